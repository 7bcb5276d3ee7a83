-- delete.lua: forget the permits.
--
-- Include: lane.lua
-- Include: refuse.lua
-- Include: permits.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  when the permits were set, µs
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
--
-- Returns  array  {1} done, {0} there were none; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, also one that changed nothing, if the server is not full
local answer = known()
if answer then
	return answer
end
local there, wrong = free()
if wrong then
	return wrong
elseif not there then
	return refuse()
end
redis.call('pexpire', KEYS[2], ARGV[2]) -- which a full server does not refuse, so that it lets those behind it pass
remember(0, {1})
redis.call('del', KEYS[1], KEYS[3])
return {1}
