-- acquire_moving.lua: take the lock while its slot is on the move, if nobody holds it.
--
-- Then of two keys one is never there, so this one does not see the tombstones.
-- What it takes is taken for a short time, until its caller has lengthened
-- that: if it arrives for an owner that was given back, that is soon over.
--
-- KEYS[1]  lock hash, the name itself: field = owner, value = hold count
-- ARGV[1]  short lease, ms
-- ARGV[2]  owner, fresh for this acquisition
--
-- Returns  nil      acquired
--          integer  remaining lease of the present holder, ms; -1: it has none
--          error    FAMILY and what else the name is: "rwlock", "group"
-- Replay   safe: an owner that is there already keeps its count and its lease
local left = redis.call('pttl', KEYS[1])
if left == -2 then
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
local field = redis.call('hmget', KEYS[1], ARGV[2], 'mode')
if field[1] then
	return nil
end
if field[2] then
	return redis.error_reply('FAMILY rwlock')
end
if redis.call('hlen', KEYS[1]) > 1 then
	return redis.error_reply('FAMILY group')
end
return left
