-- json_insert.lua: insert elements into an array of a document. Of several arrays the module would change the first ones, and
-- then fail at one that is too short.
--
-- KEYS[1]  document
-- ARGV[1]  path
-- ARGV[2]  index; below 0 from the end
-- ARGV[3…]  elements
--
-- Returns  array    how many elements the array has then; nil in it if this is no array
--          error    the array has no such index. Nothing was inserted
--          integer  how many places the path matches, where that is not one. Nothing was inserted
-- Replay   once: a second run would insert again
local types = redis.call('json.type', KEYS[1], ARGV[1])
if not types or #types ~= 1 then
	return types and #types or 0
end
return redis.pcall('json.arrinsert', KEYS[1], unpack(ARGV))
