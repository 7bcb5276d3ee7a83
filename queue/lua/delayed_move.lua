-- delayed_move.lua: put elements that are due at the tail of the queue, of our own format and of Redisson's.
--
-- Include: packed.lua
-- KEYS[1]  queue
-- KEYS[2]  Redisson's: when they are due, ms: packed elements by time
-- KEYS[3]  packed elements in the order in which they were offered
-- KEYS[4]  what was no packed element
-- KEYS[5]  our own: when they are due, ms: ids by time
-- KEYS[6]  hash: id → element
-- KEYS[7]  zset: the ids, those of equal elements beside each other
-- ARGV[1]  now, ms
-- ARGV[2]  how many at most of each format, a multiple of 10; fewer if they are long
-- ARGV[3]  how many are kept of what was none
-- ARGV[4]  how many elements of the list the server walks over, about; one is moved in any case
--
-- Returns  array  {how many were moved, 1: there are more, when the next is due, ms, or empty, how many ids had no element, what was no packed element…}
-- Replay   safe: each run moves what is still there
local answer = {0, 0, '', 0}

-- upcoming notes when the first that stays in a set is due.
local function upcoming(first)
	local at = first[2] and tonumber(first[2])
	if not at then
		return
	end
	if at <= tonumber(ARGV[1]) then
		answer[2] = 1
	end
	if answer[3] == '' or at < tonumber(answer[3]) then
		answer[3] = first[2]
	end
end

-- Our own format: no walks.
local function own()
	local ids = redis.call('zrangebyscore', KEYS[5], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
	if #ids > 0 then
		redis.call('llen', KEYS[1]) -- what refuses another type comes before what writes
		redis.call('zcard', KEYS[7])
		local elements, n, bytes = {}, 0, 0
		while n < #ids and bytes <= 1048576 do -- they are copied, and the server does nothing else meanwhile
			local last = math.min(n + 10, #ids)
			local some = redis.call('hmget', KEYS[6], unpack(ids, n + 1, last))
			for i = 1, last - n do
				if some[i] then
					elements[#elements + 1] = some[i]
					bytes = bytes + #some[i]
				end
			end
			n = last
		end
		if #elements > 0 then
			redis.call('rpush', KEYS[1], unpack(elements))
		end
		redis.call('zremrangebyrank', KEYS[5], 0, n - 1)
		redis.call('hdel', KEYS[6], unpack(ids, 1, n))
		redis.call('zrem', KEYS[7], unpack(ids, 1, n))
		answer[1] = #elements
		answer[4] = n - #elements
	end
	upcoming(redis.call('zrange', KEYS[5], 0, 0, 'WITHSCORES'))
end

-- Redisson's format.
local packed, bytes = {}, 0
for from = 0, tonumber(ARGV[2]) - 1, 10 do
	local some = redis.call('zrangebyscore', KEYS[2], '-inf', ARGV[1], 'LIMIT', from, 10)
	for i = 1, #some do
		packed[#packed + 1] = some[i]
		bytes = bytes + #some[i]
	end
	if #some < 10 or bytes > 1048576 then -- they are copied, and the server does nothing else meanwhile
		break
	end
end
local n = #packed

-- What refuses another type comes before what writes.
local left = 0
if n > 0 then
	redis.call('llen', KEYS[1])
	left = redis.call('llen', KEYS[3])
end

-- As a rule they are the head of the list. The others are near the head, or near the tail if their delay is shorter than
-- that of others. Where delays are mixed they are anywhere, and the server walks to each: these are moved as far as the
-- walks together are short enough, so that it does nothing else for a moment only.
local near = 1000
local window = {}
if n > 0 then
	window = redis.call('lrange', KEYS[3], 0, n - 1)
end
local heads, sides = {}, {}
for i = 1, #window do
	heads[window[i]] = true
end
local walked = 0
for i = 1, n do
	if not heads[packed[i]] and left > 0 then
		local walk = math.min(near, left)
		if redis.call('lpos', KEYS[3], packed[i], 'MAXLEN', near) then
			sides[packed[i]] = 1
		else
			sides[packed[i]] = -1
			walk = walk + math.min(near, left)
			if left > near and not redis.call('lpos', KEYS[3], packed[i], 'RANK', -1, 'MAXLEN', near) then
				walk = walk + left
			end
		end
		walked = walked + walk
		if walked > tonumber(ARGV[4]) and i > 1 then
			n = i - 1
			break
		end
	end
end

own() -- behind what refuses another type
upcoming(redis.call('zrange', KEYS[2], n, n, 'WITHSCORES'))
if n == 0 then
	return answer
end

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

-- Those at the head go at once, unless the list would be empty meanwhile and forget when it is to go.
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

for i = 1, n do
	if waits[packed[i]] and left > 0 then
		left = left - redis.call('lrem', KEYS[3], sides[packed[i]] or 1, packed[i])
	end
end
redis.call('zremrangebyrank', KEYS[2], 0, n - 1)
answer[1] = answer[1] + #elements
return answer
