-- drain.lua: take all permits that are free. A time to live stays.
--
-- Include: lane.lua
-- Include: refuse.lua
-- Include: permits.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
--
-- Returns  array  {how many were taken}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, also one that changed nothing, if the server is not full
local answer = known()
if answer then
	return answer
end
local was, wrong = free()
if wrong then
	return wrong
elseif not was or was <= 0 then
	return refuse()
end
redis.call('decrby', KEYS[1], string.format('%.0f', was))
remember(was, {string.format('%.0f', was)})
return {was}
