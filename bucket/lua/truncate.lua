-- truncate.lua: cut a string to its first bytes. It keeps its time to live.
--
-- KEYS[1]  string
-- ARGV[1]  how many bytes stay
--
-- Returns  integer  how many bytes it has now
-- Replay   once: a second run could cut what was appended since
local size, most = redis.call('strlen', KEYS[1]), tonumber(ARGV[1])
if size <= most then
	return size
end
local text = ''
if most > 0 then -- a range from 0 to -1 is all
	text = redis.call('getrange', KEYS[1], 0, most - 1)
end
redis.call('set', KEYS[1], text, 'KEEPTTL')
return most
