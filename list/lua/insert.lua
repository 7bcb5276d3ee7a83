-- insert.lua: insert elements into a list before that of an index, or at its end.
--
-- KEYS[1]   list
-- ARGV[1]   index, from 0
-- ARGV[2]   16 random bytes, which mark the place
-- ARGV[3…]  elements
--
-- Returns  integer  1; 0 the list is not that long, and nothing was done
-- Replay   once: a second run inserts them twice
local at, size = tonumber(ARGV[1]), redis.call('llen', KEYS[1])
if at > size then
	return 0
end

-- push pushes some of these elements, 5,000 at a time.
local function push(how, all, first, last)
	for i = first, last, 5000 do
		redis.call(how, KEYS[1], unpack(all, i, math.min(i + 4999, last)))
	end
end

-- again is what it costs to push again what is before or after the place, where to look at one element costs 1. Two elements
-- tell how long they are.
local function again()
	local first, last = at, size - 1
	if at <= size / 2 then
		first, last = 0, at - 1
	end
	local longest = math.max(#redis.call('lindex', KEYS[1], first), #redis.call('lindex', KEYS[1], last))
	return (last - first + 1) * (100 + longest / 20)
end

if at > 0 and at < size and (#ARGV - 2) * at <= again() then
	local next = redis.call('lindex', KEYS[1], at)
	redis.call('lset', KEYS[1], at, ARGV[2])
	local done = redis.pcall('linsert', KEYS[1], 'BEFORE', ARGV[2], ARGV[3])
	if type(done) == 'table' then -- the user may not
		redis.call('lset', KEYS[1], at, next)
		return done
	end
	for i = 4, #ARGV do
		redis.call('linsert', KEYS[1], 'BEFORE', ARGV[2], ARGV[i])
	end
	redis.call('lset', KEYS[1], at + #ARGV - 2, next)
elseif at <= size / 2 then -- what is before them is pushed again, the last one first
	local before, words = {}, {}
	if at > 0 then
		before = redis.call('lrange', KEYS[1], 0, at - 1)
		redis.call('ltrim', KEYS[1], 0, -1) -- what the user may not do is refused here, before anything has changed
		redis.call('lpush', KEYS[1], ARGV[3])
		redis.call('ltrim', KEYS[1], at + 1, -1)
	end
	for i = #ARGV, 3, -1 do
		words[#words + 1] = ARGV[i]
	end
	for i = #before, 1, -1 do
		words[#words + 1] = before[i]
	end
	push('lpush', words, 1, #words)
else
	local after = {}
	if at < size then
		after = redis.call('lrange', KEYS[1], at, -1)
		redis.call('ltrim', KEYS[1], 0, -1)
		redis.call('rpush', KEYS[1], ARGV[3])
		redis.call('ltrim', KEYS[1], 0, at - 1)
	end
	push('rpush', ARGV, 3, #ARGV)
	push('rpush', after, 1, #after)
end
return 1
