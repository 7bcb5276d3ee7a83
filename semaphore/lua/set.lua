-- set.lua: set how many permits are free, whatever there was.
--
-- Include: lane.lua
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
-- ARGV[5]  how many
--
-- Returns  array  {1}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
local _, wrong = free()
if wrong then
	return wrong
end
redis.call('set', KEYS[1], ARGV[5])
remember(0, {1})
born('0')
announce(ARGV[4], ARGV[3], tonumber(ARGV[5]))
return {1}
