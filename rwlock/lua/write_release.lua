-- write_release.lua: give back a private write hold, whose count is always 1.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  waiting readers: zset of clients
-- KEYS[3]  turn: readers who go first for a moment
-- ARGV[1]  owner
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
-- ARGV[4]  how long a turn of readers is, ms
--
-- Returns  integer  how many subscribers the message reached; -1: this owner does not hold the lock
-- Replay   safe: the owner is fresh, so a second run finds it gone and changes nothing
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
	return -1
end
if redis.call('exists', KEYS[2]) == 1 then
	redis.call('rename', KEYS[2], KEYS[3])
	redis.call('pexpire', KEYS[3], ARGV[4])
end
if redis.call('hlen', KEYS[1]) > 1 then -- reads of the same owner, as Redisson's threads have
	redis.call('hset', KEYS[1], 'mode', 'read')
else
	redis.call('del', KEYS[1])
end
-- pcall: an ACL that denies the channel must not turn a release into an error.
local reached = redis.pcall(ARGV[3], ARGV[2], '1')
return type(reached) == 'number' and reached or 0
