-- bounded_remove.lua: remove elements of a bounded queue, and free their slots.
--
-- Include: number.lua
-- Include: slots.lua
-- KEYS[1]  queue
-- KEYS[2]  free slots: decimal
-- ARGV[1]  channel of free slots
-- ARGV[2]  1: tell sharded listeners, too
-- ARGV[3]  how many, as for LREM
-- ARGV[4]  the element
--
-- Returns  integer  how many were removed
-- Replay   unsafe: a second run removes others
local room, wrong = number(KEYS[2])
if wrong then
	return wrong
end
local gone = redis.call('lrem', KEYS[1], ARGV[3], ARGV[4])
if room and gone > 0 then
	announce(ARGV[1], ARGV[2], redis.call('incrby', KEYS[2], gone))
end
return gone
