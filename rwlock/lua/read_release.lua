-- read_release.lua: give back a private read hold, whose count is always 1.
--
-- It does not look for how long the other readers stay, which would take a look
-- at each: the name keeps its time to live.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  the reader's own key
-- ARGV[1]  owner
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
--
-- Returns  integer  how many subscribers the message reached, 0 if others still read; -1: this owner does not hold the lock
-- Replay   safe: the owner is fresh, so a second run finds it gone and changes nothing
local held = redis.call('hdel', KEYS[1], ARGV[1])
redis.call('del', KEYS[2])
if held == 0 then
	return -1
end
if redis.call('hlen', KEYS[1]) > 1 then
	return 0
end
redis.call('del', KEYS[1])
-- pcall: an ACL that denies the channel must not turn a release into an error.
local reached = redis.pcall(ARGV[3], ARGV[2], '0')
return type(reached) == 'number' and reached or 0
