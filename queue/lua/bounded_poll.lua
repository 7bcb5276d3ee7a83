-- bounded_poll.lua: take elements from the head of a bounded queue, and free their slots.
--
-- Include: number.lua
-- Include: slots.lua
-- KEYS[1]  queue
-- KEYS[2]  free slots: decimal
-- ARGV[1]  channel of free slots
-- ARGV[2]  1: tell sharded listeners, too
-- ARGV[3]  how many at most
--
-- Returns  array  the elements
-- Replay   unsafe: a second run takes others
local room, wrong = number(KEYS[2])
if wrong then
	return wrong
end
local got = redis.call('lpop', KEYS[1], ARGV[3])
if not got or #got == 0 then
	return {}
end
if room then
	announce(ARGV[1], ARGV[2], redis.call('incrby', KEYS[2], #got))
end
return got
