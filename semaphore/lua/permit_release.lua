-- permit_release.lua: the common case of permit_exchange.lua: a holder that trusts its lease gives a permit back.
--
-- Include: permits.lua
-- Include: announce.lua
-- Include: leases.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  leases: zset of the ids that are held, score = end of the lease, ms
-- ARGV[1]  id, 16 bytes
-- ARGV[2]  channel of given permits
-- ARGV[3]  publish or spublish
--
-- Returns  integer  how many subscribers the message reached; -1: the permit is not held
--          nil      there is no such semaphore
-- Replay   safe: the id is used once, so a second run finds it gone and changes nothing
local was, wrong = free()
if wrong then
	return wrong
end
local held = redis.pcall('zrem', KEYS[2], ARGV[1])
if type(held) == 'table' then
	return no_leases(KEYS[2], held) or held
end
if not was then
	return nil
elseif held == 0 then
	return -1
end
redis.call('incrby', KEYS[1], 1)
return announce(ARGV[3], ARGV[2], was + 1)
