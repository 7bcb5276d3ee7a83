-- delayed_move.lua: put elements that are due at the tail of the queue.
--
-- Include: packed.lua
-- KEYS[1]  queue
-- KEYS[2]  when they are due, ms: packed elements by time
-- KEYS[3]  packed elements in the order in which they were offered
-- KEYS[4]  what was no packed element
-- ARGV[1]  now, ms
-- ARGV[2]  how many at most
-- ARGV[3]  how many are kept of what was none
--
-- Returns  array  {how many were moved, 1: there are more, when the next is due, ms, or empty, what was no packed element…}
-- Replay   safe: each run moves what is still there
local packed = redis.call('zrangebyscore', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local n = #packed
local next = redis.call('zrange', KEYS[2], n, n, 'WITHSCORES')
local more = 0
if next[2] and tonumber(next[2]) <= tonumber(ARGV[1]) then
	more = 1
end
local answer = {0, more, next[2] or ''}
if n == 0 then
	return answer
end

-- What refuses another type comes before what writes.
redis.call('llen', KEYS[1])
local left = redis.call('llen', KEYS[3])
local window = redis.call('lrange', KEYS[3], 0, n - 1)
local elements, aside, waits = {}, {}, {}
for i = 1, n do
	local element = payload(packed[i])
	if element then
		elements[#elements + 1] = element
	else
		aside[#aside + 1] = packed[i]
		answer[#answer + 1] = packed[i]
	end
	waits[packed[i]] = true
end
if #aside > 0 then
	redis.call('rpush', KEYS[4], unpack(aside))
	redis.call('ltrim', KEYS[4], -tonumber(ARGV[3]), -1)
end
if #elements > 0 then
	redis.call('rpush', KEYS[1], unpack(elements))
end

-- As a rule they are the head of what was offered, but for a few where many offer at the same time: these go at once,
-- unless the list would be empty meanwhile and forget when it is to go.
local stay, found = {}, 0
for i = #window, 1, -1 do
	if waits[window[i]] then
		found = found + 1
	else
		stay[#stay + 1] = window[i]
	end
end
if found > 0 and (left > #window or #stay == 0) then
	redis.call('ltrim', KEYS[3], #window, -1)
	if #stay > 0 then
		redis.call('lpush', KEYS[3], unpack(stay))
	end
	left = left - found
	for i = 1, #window do
		waits[window[i]] = nil
	end
end

-- The others are near the head, or near the tail if their delay is shorter than that of others.
for i = 1, n do
	if waits[packed[i]] and left > 0 then
		local from = -1
		if redis.call('lpos', KEYS[3], packed[i], 'MAXLEN', 1000) then
			from = 1
		end
		left = left - redis.call('lrem', KEYS[3], from, packed[i])
	end
end
redis.call('zremrangebyrank', KEYS[2], 0, n - 1)
answer[1] = #elements
return answer
