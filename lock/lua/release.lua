-- release.lua: give back a private hold, whose count is always 1.
--
-- KEYS[1]  lock hash, the name itself
-- ARGV[1]  owner
-- ARGV[2]  channel of releases
-- ARGV[3…]  spublish, if channels are sharded
--
-- Returns  integer  how many subscribers the message reached; -1: this owner does not hold the lock
-- Replay   safe: the owner is fresh, so a second run finds it gone and changes nothing
-- It is the only field: with it goes the key. One key, so that it works while
-- the slot moves; a channel is no key.
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
	return -1
end
-- pcall: an ACL that denies the channel must not turn a release into an error.
local reached = redis.pcall(ARGV[3] or 'publish', ARGV[2], '0')
return type(reached) == 'number' and reached or 0
