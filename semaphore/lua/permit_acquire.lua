-- permit_acquire.lua: the common case of permit_exchange.lua: one caller takes a permit, or gets none.
--
-- Include: permits.lua
-- Include: announce.lua
-- Include: leases.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  leases: zset of the ids that are held, score = end of the lease, ms
-- KEYS[3]  tombstones: zset of ids that were given back; missing as a rule
-- ARGV[1]  id, 16 bytes, fresh for this acquisition
-- ARGV[2]  lease, ms
-- ARGV[3]  channel of given permits
-- ARGV[4]  publish or spublish
--
-- Returns  integer  0 taken; above 0: refused, and the first lease ends in so many ms; -1: refused, and none ends;
--                   -2: refused by the tombstone
--          nil      there is no such semaphore
-- Replay   safe: an id that is there keeps its permit, its lease only grows; one that was given back is refused
local was, wrong = free()
if not was then
	return wrong
end
local now = clock()
local ends = whole(now + ARGV[2])
if redis.call('exists', KEYS[3]) == 1 and redis.call('zscore', KEYS[3], ARGV[1]) then
	return -2
end
if was < 1 then
	-- Dead permits are taken in when they are needed: until then they harm nobody.
	local there = redis.pcall('zscore', KEYS[2], ARGV[1])
	wrong = no_leases(KEYS[2], there)
	if wrong then
		return wrong
	end
	local dead = redis.call('zcount', KEYS[2], 0, whole(now))
	if not there then
		if was + dead < 1 then
			return first(KEYS[2], now)
		end
		-- The new one first: of a slot on the move, a set that was empty for a moment could not come back.
		redis.call('zadd', KEYS[2], ends, ARGV[1])
		redis.call('zremrangebyscore', KEYS[2], 0, whole(now))
		redis.call('incrby', KEYS[1], whole(dead - 1))
		follow(KEYS[1], KEYS[2])
		announce(ARGV[4], ARGV[3], was + dead - 1)
		return 0
	end
end
local new = redis.pcall('zadd', KEYS[2], 'GT', ends, ARGV[1])
if type(new) == 'table' then
	return no_leases(KEYS[2], new) or new
end
-- By 0, too: who waits until replicas have it needs a write.
redis.call('decrby', KEYS[1], new)
follow(KEYS[1], KEYS[2])
return 0
