-- put.lua: the common case of store: nobody listens, nothing is bounded, and the request has no id.
--
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  options
-- KEYS[5]  lease of who loads the entry
-- ARGV[1]  key
-- ARGV[2]  entry as the hash has it
-- ARGV[3]  when it ends, ms; empty: never
-- ARGV[4]  when it has rested for too long, ms; empty: never
--
-- Returns  integer  1: it was written
--          array    there are options, and nothing was done: {largest size, mode, whether somebody listens, most bytes}
-- Replay   once: a second run overwrites what others wrote in between
local more = redis.call('exists', KEYS[3], KEYS[4], KEYS[5]) > 0
if more and redis.call('exists', KEYS[4]) == 1 then
	return redis.call('hmget', KEYS[4], 'max-size', 'mode', 'has-listeners', 'rueidisson-max-bytes')
end
-- What takes memory comes first, or a full server would let it pass behind what takes none; the value behind its end.
local ended, rested
if ARGV[4] ~= '' then
	redis.call('zadd', KEYS[3], ARGV[4], ARGV[1])
elseif more then
	rested = redis.call('zscore', KEYS[3], ARGV[1])
end
if ARGV[3] ~= '' then
	redis.call('zadd', KEYS[2], ARGV[3], ARGV[1])
else
	ended = redis.call('zscore', KEYS[2], ARGV[1])
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
if ended then
	redis.call('zrem', KEYS[2], ARGV[1])
end
if rested then
	redis.call('zrem', KEYS[3], ARGV[1])
end
if more then
	redis.call('del', KEYS[5])
end
return 1
