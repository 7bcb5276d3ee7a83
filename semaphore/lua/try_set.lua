-- try_set.lua: set how many permits there are, unless they are set already.
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
if ARGV[6] == '0' then
	redis.call('set', KEYS[1], ARGV[5])
else
	redis.call('set', KEYS[1], ARGV[5], 'PX', ARGV[6])
end
remember(0, {1})
born(ARGV[6])
announce(ARGV[4], ARGV[3], tonumber(ARGV[5]))
return {1}
