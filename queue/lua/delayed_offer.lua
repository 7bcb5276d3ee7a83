-- delayed_offer.lua: let elements wait in a delayed queue.
--
-- Include: lane.lua
-- KEYS[1]   when they are due, ms: packed elements by time
-- KEYS[2]   lane of the request
-- KEYS[3]   packed elements in the order in which they were offered
-- ARGV[1]   number of the request
-- ARGV[2]   how long a lane is remembered, ms
-- ARGV[3]   channel of who moves them
-- ARGV[4]   before when, ms, the first would have been moved if somebody did
-- ARGV[5…]  when an element is due, and the element, packed
--
-- Returns  array  {how many wait}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
local first = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES')
local size = redis.call('llen', KEYS[3]) -- which refuses another type before anything is written
for i = 5, #ARGV, 2 do
	if redis.call('zadd', KEYS[1], 'NX', ARGV[i], ARGV[i + 1]) == 1 then
		size = redis.call('rpush', KEYS[3], ARGV[i + 1])
	end
end
answer = {size}
remember(1, answer)
local now = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES')
-- Java's movers know of the first by one message. If that was lost they wait for ever, and all that come behind with it.
if now[1] ~= first[1] or tonumber(first[2]) < tonumber(ARGV[4]) then
	-- pcall: an ACL that denies the channel must not turn an offer into an error.
	redis.pcall('publish', ARGV[3], string.format('%.0f', tonumber(now[2])))
end
return answer
