-- giveback.lua: release an owner of which an acquire may still be on its way.
--
-- KEYS[1]  lock hash {name}
-- KEYS[2]  channel of releases
-- KEYS[3]  tombstone of this owner
-- ARGV[1]  owner
-- ARGV[2]  publish or spublish
-- ARGV[3]  how long the tombstone stands, ms
--
-- Returns  integer  how many subscribers the message reached; -1: this owner does not hold the lock
-- Replay   safe: the owner is fresh, so a second run finds it gone and changes nothing
redis.call('set', KEYS[3], '1', 'PX', ARGV[3])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return -1
end
redis.call('del', KEYS[1])
local reached = redis.pcall(ARGV[2], KEYS[2], '0')
return type(reached) == 'number' and reached or 0
