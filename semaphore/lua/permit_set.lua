-- permit_set.lua: set how many permits there are, those that are held included.
--
-- Include: lane.lua
-- Include: permits.lua
-- Include: announce.lua
-- Include: leases.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  leases: zset of the ids that are held, score = end of the lease, ms
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  channel of given permits
-- ARGV[4]  publish or spublish
-- ARGV[5]  how many
--
-- Returns  array  {1}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
local was, wrong = free()
if wrong then
	return wrong
end
local now, now_free = clock(), nil
now_free, wrong = unheld(tonumber(ARGV[5]), KEYS[3], now)
if wrong then
	return wrong
end
if was then
	redis.call('incrby', KEYS[1], whole(now_free - was)) -- which keeps a time to live
else
	redis.call('set', KEYS[1], whole(now_free))
end
remember(0, {1})
follow(KEYS[1], KEYS[3])
redis.call('zremrangebyscore', KEYS[3], 0, whole(now))
if now_free > (was or 0) then
	announce(ARGV[4], ARGV[3], now_free)
end
return {1}
