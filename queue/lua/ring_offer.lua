-- ring_offer.lua: put elements at the tail of a ring buffer, and drop the oldest where there are more than it holds.
--
-- Include: number.lua
-- Include: lane.lua
-- KEYS[1]   ring buffer
-- KEYS[2]   lane of the request
-- KEYS[3]   how many elements it holds: decimal
-- ARGV[1]   number of the request
-- ARGV[2]   how long a lane is remembered, ms
-- ARGV[3…]  elements
--
-- Returns  array  {how many elements there are, and were before it dropped any}; {-1}: an older request that comes late,
--                 and changes nothing; {-2, 0}: there is no capacity, and nothing was changed
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
local capacity, wrong = number(KEYS[3])
if wrong then
	return wrong
end
answer = {-2, 0}
if capacity then
	local size = redis.call('rpush', KEYS[1], unpack(ARGV, 3))
	local over = math.max(size - math.max(capacity, 0), 0)
	if over > 0 then
		redis.call('ltrim', KEYS[1], over, -1)
	end
	answer = {size - over, size}
end
remember(0, answer)
return answer
