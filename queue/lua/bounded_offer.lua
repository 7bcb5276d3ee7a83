-- bounded_offer.lua: put elements at the tail of a bounded queue, if there is room for all of them.
--
-- Include: number.lua
-- KEYS[1]   queue
-- KEYS[2]   free slots: decimal
-- ARGV[1…]  elements
--
-- Returns  integer  how many elements there are; -1 there is no room, -2 there is no capacity: nothing was changed
-- Replay   unsafe: a second run offers again
local room, wrong = number(KEYS[2])
if not room then
	return wrong or -2
elseif room < #ARGV then
	return -1
end
local size = redis.call('rpush', KEYS[1], unpack(ARGV))
redis.call('decrby', KEYS[2], #ARGV)
return size
