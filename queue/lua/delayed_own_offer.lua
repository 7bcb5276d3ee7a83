-- delayed_own_offer.lua: let elements wait in a delayed queue of our own format.
--
-- Include: lane.lua
-- KEYS[1]   when they are due, ms: ids by time
-- KEYS[2]   lane of the request
-- KEYS[3]   hash: id → element
-- KEYS[4]   zset: the ids, those of equal elements beside each other
-- ARGV[1]   number of the request
-- ARGV[2]   how long a lane is remembered, ms
-- ARGV[3]   channel of who moves them
-- ARGV[4]   before when, ms, the first would have been moved if somebody did
-- ARGV[5…]  when an element is due, its id, and the element
--
-- Returns  array  {how many wait}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
local first = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('hlen', KEYS[3]) -- which refuse another type before anything is written
redis.call('zcard', KEYS[4])
for i = 5, #ARGV, 3 do
	if redis.call('zadd', KEYS[1], 'NX', ARGV[i], ARGV[i + 1]) == 1 then
		redis.call('hset', KEYS[3], ARGV[i + 1], ARGV[i + 2])
		redis.call('zadd', KEYS[4], 0, ARGV[i + 1])
	end
end
answer = {redis.call('zcard', KEYS[1])}
remember(1, answer)
local now = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES')
if now[1] ~= first[1] or tonumber(first[2]) < tonumber(ARGV[4]) then -- or the message about it was lost
	-- pcall: an ACL that denies the channel must not turn an offer into an error.
	redis.pcall('publish', ARGV[3], string.format('%.0f', tonumber(now[2])))
end
return answer
