-- add.lua: change how many permits there are. A time to live stays.
--
-- Include: lane.lua
-- Include: refuse.lua
-- Include: permits.lua
-- Include: announce.lua
-- Include: born.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  when the permits were set, µs
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
local now = (was or 0) + tonumber(ARGV[5])
if now > most or now < -most then
	return refuse()
end
redis.call('incrby', KEYS[1], ARGV[5])
remember(0, {1})
if not was then
	born('0')
end
if tonumber(ARGV[5]) > 0 then
	announce(ARGV[4], ARGV[3], now)
end
return {1}
