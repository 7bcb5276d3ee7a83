-- delete.lua: forget the latch, which lets those pass who wait.
--
-- Include: lane.lua
-- Include: count.lua
-- Include: opened.lua
-- Include: open.lua
-- KEYS[1]  count, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  when it opened last, µs
-- KEYS[4]  who has counted down since it was armed
-- KEYS[5]  when it was armed, µs
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane and an opening are remembered, ms
-- ARGV[3]  channel of the latch
-- ARGV[4]  publish or spublish
--
-- Returns  array  {1} done, {0} there was none; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
redis.call('pexpire', KEYS[2], ARGV[2]) -- which a full server does not refuse, so that it lets those behind it pass
local there, wrong = left()
if wrong then
	return wrong
elseif not there then
	remember(0, {0})
	redis.call('del', KEYS[4], KEYS[5])
	return {0}
end
remember(0, {1})
-- Redisson says 1, which releases nobody; the 0 behind it does.
redis.pcall(ARGV[4], ARGV[3], '1')
open()
return {1}
