-- json_len.lua: count the elements of an array, the members of an object, or the bytes of a string of a document.
--
-- KEYS[1]  document
-- ARGV[1]  path
-- Runs     json.arrlen json.objlen json.strlen
--
-- Returns  integer  those of the first place that has any
--          nil      there is no such place
-- Replay   reads: it changes nothing
local types = redis.call('json.type', KEYS[1], ARGV[1])
local by = {array = 'json.arrlen', object = 'json.objlen', string = 'json.strlen'}
for i, is in ipairs(types or {}) do
	if by[is] then
		return redis.call(by[is], KEYS[1], ARGV[1])[i]
	end
end
return false
