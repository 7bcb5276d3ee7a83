-- bounded_offer.lua: put elements at an end of a bounded queue, if there is room for all of them.
--
-- Include: number.lua
-- KEYS[1]   queue
-- KEYS[2]   free slots: decimal
-- ARGV[1]   RPUSH or LPUSH
-- ARGV[2…]  elements
--
-- Runs     rpush lpush
-- Returns  integer  how many elements there are; -1 there is no room, -2 there is no capacity: nothing was changed
-- Replay   once: a second run offers again
local room, wrong = number(KEYS[2])
if not room then
	return wrong or -2
elseif room < #ARGV - 1 then
	return -1
end
local size = redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
redis.call('decrby', KEYS[2], #ARGV - 1)
return size
