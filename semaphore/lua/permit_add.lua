-- permit_add.lua: change how many permits there are. A time to live stays.
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
-- ARGV[5]  how many more; negative: fewer
--
-- Returns  array  {1} done, {0} the sum would be beyond 32 bits; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request; one that changed nothing may be decided anew
local answer = known()
if answer then
	return answer
end
local was, wrong = free()
if wrong then
	return wrong
end
local held = redis.pcall('zcard', KEYS[3])
if type(held) == 'table' then
	return no_leases(KEYS[3], held) or held
end
local now = (was or 0) + tonumber(ARGV[5])
if now + held > most or now < -most then
	return {0}
end
redis.call('incrby', KEYS[1], ARGV[5])
remember(0, {1})
if tonumber(ARGV[5]) > 0 then
	announce(ARGV[4], ARGV[3], now)
end
return {1}
