-- permit_look.lua: how many permits are free, with those whose leases have ended.
--
-- Include: permits.lua
-- Include: leases.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  leases: zset of the ids that are held, score = end of the lease, ms
--
-- Returns  integer  how many; negative: they were reduced by more than were free
--          nil      there is no such semaphore
-- Replay   reads: it changes nothing
local was, wrong = free()
if not was then
	return wrong
end
local dead = redis.pcall('zcount', KEYS[2], 0, whole(clock()))
if type(dead) == 'table' then
	return no_leases(KEYS[2], dead) or dead
end
return was + dead
