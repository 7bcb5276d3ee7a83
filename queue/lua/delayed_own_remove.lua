-- delayed_own_remove.lua: remove elements that wait in a delayed queue of our own format.
--
-- KEYS[1]  when they are due, ms: ids by time
-- KEYS[2]  hash: id → element
-- KEYS[3]  zset: the ids, those of equal elements beside each other
-- ARGV[1]  what the ids of the element begin with, as for ZRANGEBYLEX
-- ARGV[2]  what they end before, likewise
-- ARGV[3]  how many at most
--
-- Returns  integer  how many were removed
-- Replay   unsafe: a second run removes others
redis.call('zcard', KEYS[1]) -- which refuse another type before anything is written
redis.call('hlen', KEYS[2])
local ids = redis.call('zrangebylex', KEYS[3], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
if #ids > 0 then
	redis.call('zrem', KEYS[1], unpack(ids))
	redis.call('hdel', KEYS[2], unpack(ids))
	redis.call('zrem', KEYS[3], unpack(ids))
end
return #ids
