-- bound_bytes.lua: set how many bytes a cache may have. What it has is counted from a sample of its entries.
--
-- KEYS[1]  options
-- KEYS[2]  accesses
-- KEYS[3]  hash
-- ARGV[1]  how many bytes; 0: any number
-- ARGV[2]  LRU or LFU: which go first
--
-- Returns  integer  1
-- Replay   safe: the second run finds the same
local mode, most, heaviest = unpack(redis.call('hmget', KEYS[1], 'mode', 'max-size', 'rueidisson-max-bytes'))
if heaviest == ARGV[1] and mode == ARGV[2] then
	return 1 -- and what has been counted is better than a sample
end
if (mode or 'LRU') ~= ARGV[2] or ARGV[1] == '0' and (most or '0') == '0' then
	redis.call('unlink', KEYS[2]) -- times and counts are not to be compared
end
local names, bytes = redis.call('hrandfield', KEYS[3], 1000), 0
for _, name in ipairs(names) do
	bytes = bytes + #name + redis.call('hstrlen', KEYS[3], name)
end
if #names > 0 then
	bytes = bytes / #names * redis.call('hlen', KEYS[3])
end
redis.call('hset', KEYS[1], 'rueidisson-max-bytes', ARGV[1], 'mode', ARGV[2], 'rueidisson-bytes', string.format('%.0f', bytes))
return 1
