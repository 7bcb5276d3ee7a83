-- look.lua: how long a map stays, for a near cache that is told of its changes.
--
-- KEYS[1]  map
-- KEYS[2]  what a transaction of Redisson's has disabled: keys
-- KEYS[3]  likewise: whole caches
--
-- Returns  integer  as PTTL; -3: nothing may be kept now
-- Replay   reads: it changes nothing
if redis.call('exists', KEYS[2], KEYS[3]) > 0 then
	return -3
end
return redis.call('pttl', KEYS[1])
