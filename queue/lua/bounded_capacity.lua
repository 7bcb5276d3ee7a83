-- bounded_capacity.lua: set how many elements a bounded queue may have.
--
-- Include: slots.lua
-- Include: done.lua
-- KEYS[1]  queue
-- KEYS[2]  free slots: decimal
-- KEYS[3]  what remembers the answer
-- ARGV[1]  how long it is remembered, ms
-- ARGV[2]  channel of free slots
-- ARGV[3]  1: tell sharded listeners, too
-- ARGV[4]  capacity
-- ARGV[5]  1: also if there is one already
--
-- Returns  integer  1 it was set, 0 there was one
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if ARGV[5] == '0' and redis.call('exists', KEYS[2]) == 1 then
	return done(0)
end
local room = tonumber(ARGV[4]) - redis.call('llen', KEYS[1])
local left = redis.call('pttl', KEYS[2])
redis.call('set', KEYS[2], string.format('%.0f', room))
if left > 0 then
	redis.call('pexpire', KEYS[2], left)
end
announce(ARGV[2], ARGV[3], room)
return done(1)
