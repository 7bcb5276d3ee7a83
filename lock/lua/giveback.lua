-- giveback.lua: release an owner of which an acquire may still be on its way.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  channel of releases
-- KEYS[3]  tombstones: zset of owners that were given back, score = when, ms
-- ARGV[1]  owner
-- ARGV[2]  publish or spublish
-- ARGV[3]  how long a tombstone stands, ms
--
-- Returns  integer  how many subscribers the message reached; -1: this owner does not hold the lock
-- Replay   safe: the owner is fresh, so a second run finds it gone and changes nothing
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[3], '-inf', string.format('%.0f', now - ARGV[3]))
redis.call('zadd', KEYS[3], string.format('%.0f', now), ARGV[1])
redis.call('pexpire', KEYS[3], ARGV[3])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return -1
end
redis.call('del', KEYS[1])
local reached = redis.pcall(ARGV[2], KEYS[2], '0')
return type(reached) == 'number' and reached or 0
