-- try_set.lua: arm the latch, unless it is armed already.
--
-- Include: lane.lua
-- Include: count.lua
-- KEYS[1]  count, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  who has counted down since it was armed
-- KEYS[4]  when it was armed, µs
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  channel of the latch
-- ARGV[4]  publish or spublish
-- ARGV[5]  the count
-- ARGV[6]  how long it is there, ms; 0: until it is counted down
--
-- Returns  array  {1} armed, {0} there is a count already; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
local there, wrong = left()
if wrong then
	return wrong
elseif there then
	remember(0, {0})
	return {0}
end
remember(0, {1})
local t = redis.call('time')
local now = string.format('%.0f', t[1] * 1000000 + t[2])
if ARGV[6] == '0' then
	redis.call('set', KEYS[1], ARGV[5])
	redis.call('set', KEYS[4], now)
else
	redis.call('set', KEYS[1], ARGV[5], 'PX', ARGV[6])
	redis.call('set', KEYS[4], now, 'PX', ARGV[6])
end
redis.call('del', KEYS[3])
redis.pcall(ARGV[4], ARGV[3], '1') -- which closes the gate of those who wait in Java
return {1}
