-- bound_set.lua: set how many entries a cache may have.
--
-- KEYS[1]  options
-- KEYS[2]  accesses
-- ARGV[1]  how many entries; 0: any number
-- ARGV[2]  LRU or LFU: which go first
--
-- Returns  integer  1
-- Replay   safe: the second run sets the same
local mode, bytes = unpack(redis.call('hmget', KEYS[1], 'mode', 'rueidisson-max-bytes'))
if (mode or 'LRU') ~= ARGV[2] or ARGV[1] == '0' and (bytes or '0') == '0' then
	redis.call('unlink', KEYS[2]) -- times and counts are not to be compared
end
redis.call('hset', KEYS[1], 'max-size', ARGV[1], 'mode', ARGV[2])
return 1
