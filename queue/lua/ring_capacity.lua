-- ring_capacity.lua: set how many elements a ring buffer holds, and drop the oldest of more.
--
-- Include: done.lua
-- KEYS[1]  ring buffer
-- KEYS[2]  how many elements it holds: decimal
-- KEYS[3]  what remembers the answer
-- ARGV[1]  how long it is remembered, ms
-- ARGV[2]  capacity
-- ARGV[3]  1: also if there is one already
--
-- Returns  integer  1 it was set, 0 there was one
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if ARGV[3] == '0' and redis.call('exists', KEYS[2]) == 1 then
	return done(0)
end
if redis.call('llen', KEYS[1]) > tonumber(ARGV[2]) then
	redis.call('ltrim', KEYS[1], '-' .. ARGV[2], -1)
end
local left = redis.call('pttl', KEYS[2])
redis.call('set', KEYS[2], ARGV[2])
if left > 0 then
	redis.call('pexpire', KEYS[2], left)
end
return done(1)
