-- permit_add.lua: change how many permits there are. A time to live stays.
--
-- Include: lane.lua
-- Include: refuse.lua
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
-- ARGV[5]  how many more; negative: fewer
--
-- Returns  array  {1} done, {0} the sum would be beyond 32 bits; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, also one that changed nothing, if the server is not full
local answer = known()
if answer then
	return answer
end
local was, wrong = free()
if wrong then
	return wrong
end
local more, now = tonumber(ARGV[5]), clock()
local none, bad = unheld(0, KEYS[3], now) -- as many below 0 as are held
if bad then
	return bad
end
local now_free = (was or none) + more -- where none were set, those that are held are some of those that are added
if now_free - none > most or now_free < -most then
	return refuse()
end
redis.call('incrby', KEYS[1], whole(now_free - (was or 0)))
remember(0, {1})
if not was then
	follow(KEYS[1], KEYS[3])
	redis.call('zremrangebyscore', KEYS[3], 0, whole(now))
end
if more > 0 then
	announce(ARGV[4], ARGV[3], now_free)
end
return {1}
