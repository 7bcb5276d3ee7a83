-- permit_try_set.lua: set how many permits there are, those that are held included, unless they are set already.
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
-- ARGV[5]  how many
-- ARGV[6]  how long they are there, ms; 0: for ever
--
-- Returns  array  {1} set, {0} they are set already; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, also one that changed nothing, if the server is not full
local answer = known()
if answer then
	return answer
end
local there, wrong = free()
if wrong then
	return wrong
elseif there then
	return refuse()
end
-- Somebody may hold permits of a number that went by itself.
local now, now_free = clock(), nil
now_free, wrong = unheld(tonumber(ARGV[5]), KEYS[3], now)
if wrong then
	return wrong
end
if ARGV[6] == '0' then
	redis.call('set', KEYS[1], whole(now_free))
else
	redis.call('set', KEYS[1], whole(now_free), 'PX', ARGV[6])
end
remember(0, {1})
follow(KEYS[1], KEYS[3])
redis.call('zremrangebyscore', KEYS[3], 0, whole(now))
announce(ARGV[4], ARGV[3], now_free)
return {1}
