-- bound_set.lua: set how large a cache may be.
--
-- KEYS[1]  options
-- KEYS[2]  accesses
-- ARGV[1]  how many entries; 0: any number
-- ARGV[2]  LRU or LFU: which go first
--
-- Returns  integer  1
-- Replay   safe: the second run sets the same
local was = redis.call('hget', KEYS[1], 'mode') or 'LRU'
if was ~= ARGV[2] or ARGV[1] == '0' then
	redis.call('unlink', KEYS[2]) -- times and counts are not to be compared
end
redis.call('hset', KEYS[1], 'max-size', ARGV[1], 'mode', ARGV[2])
return 1
