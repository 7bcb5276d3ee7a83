-- json_pop.lua: take an element out of an array of a document.
--
-- KEYS[1]  document
-- ARGV[1]  path
-- ARGV[2]  index; below 0 from the end
--
-- Returns  text     the element
--          nil      there is no array, or it is empty
--          integer  how many places the path matches, where that is not one. Nothing was taken
-- Replay   unsafe: the element is in the answer only
local types = redis.call('json.type', KEYS[1], ARGV[1])
if not types or #types ~= 1 then
	return types and #types or 0
end
return redis.call('json.arrpop', KEYS[1], ARGV[1], ARGV[2])[1]
