-- bound_absent.lua: set how large a cache may be, unless somebody has set that.
--
-- KEYS[1]  options
-- KEYS[2]  accesses
-- ARGV[1]  how many entries; 0: any number
-- ARGV[2]  LRU or LFU: which go first
--
-- Returns  integer  1 it is set, 0 somebody had set it
-- Replay   once: a second run finds the bound of the first
if redis.call('hexists', KEYS[1], 'max-size') == 1 then
	return 0
end
local mode, bytes = unpack(redis.call('hmget', KEYS[1], 'mode', 'rueidisson-max-bytes'))
if (mode or 'LRU') ~= ARGV[2] or (bytes or '0') == '0' then
	redis.call('unlink', KEYS[2]) -- times and counts are not to be compared
end
redis.call('hset', KEYS[1], 'max-size', ARGV[1], 'mode', ARGV[2])
return 1
