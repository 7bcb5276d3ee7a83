-- pause.lua: have nothing taken from a queue for a while, or go on.
--
-- Include: queue.lua
-- Include: wake.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    for how long nothing is taken, ms; 0: until it is to go on, -1: go on
-- ARGV[3]    what the channels of those who wait begin with
-- ARGV[4]    publish or spublish
-- ARGV[5]    0: a message that reached nobody proves nothing
--
-- Returns  integer  1 it was paused before, 0 it was not
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end
local before = redis.call('exists', pause)
if ARGV[2] == '-1' then
	redis.call('del', pause)
	wake(4, ARGV[4], ARGV[5], ARGV[3], 'w')
elseif ARGV[2] == '0' then
	redis.call('set', pause, '1')
else
	redis.call('set', pause, '1', 'PX', ARGV[2])
end
return done(before)
