-- page.lua: the values of some keys, until they have so many bytes.
--
-- Include: key.lua
-- Include: runid.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[i…]  values of each key
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   list or set
-- ARGV[3]   where to go on in the first of the keys: a position, or a cursor of SSCAN; 0: from the start
-- ARGV[4]   the length of the value before that position, a colon, and its first 64 bytes; empty: not looked at
-- ARGV[5]   how many values to ask for first
-- ARGV[6]   how many at most, about
-- ARGV[7]   bytes at most, about
-- ARGV[8]   the server that gave the cursor of a set, see runid.lua
-- ARGV[9…]  keys
--
-- Returns  array  {how many keys are through; where to go on in the next, 0: from the start; how many values were read;
--                 their bytes; this server, of sets; for each of these keys, and for the
--                 next where it has begun: its values, in an array}
-- Replay   reads: it changes nothing
local kind, most, limit = ARGV[2], tonumber(ARGV[6]), tonumber(ARGV[7])
local count, passed, bytes = tonumber(ARGV[5]), 0, 0

-- moved is where to go on in a list from which values were taken meanwhile: behind the value that was read last. Where
-- that is not there any more, it is the start: values come twice then.
local function moved(values, at)
	local seen = 0
	for i = at - 1, math.max(at - 1000, 0), -1 do
		local value = redis.call('lindex', values, i)
		if value and #value .. ':' .. string.sub(value, 1, 64) == ARGV[4] then
			return i + 1
		end
		seen = seen + (value and #value or 0)
		if seen > limit then
			break
		end
	end
	return 0
end

-- step is about n values of a key, and where to go on; 0: that was all.
local function step(values, at, n)
	if kind == 'set' then
		local page = redis.call('sscan', values, at, 'COUNT', n)
		return page[2], page[1]
	end
	local page = redis.call('lrange', values, at, at + n - 1)
	return page, #page == n and at + n or '0'
end

-- some is the values of a key from there on, as far as the bounds go, n first: one from the start of a key, since
-- nothing is known of its values.
local function some(values, at, n)
	local all, read, size = {}, 0, 0
	repeat
		local page
		page, at = step(values, at, n)
		for _, value in ipairs(page) do
			all[#all + 1] = value
			size = size + #value
		end
		read = read + math.max(#page, 1)
		n = math.min(4 * n, most - passed - read)
		if size > 0 then
			n = math.min(n, math.floor((limit - bytes - size) * read / size))
		end
	until tostring(at) == '0' or n < 1
	passed, bytes = passed + read, bytes + size
	return all, at
end

local server = kind == 'set' and runid() or ''
local answer = {0, '0', 0, 0, server}
local at = ARGV[3]
if kind == 'set' and server ~= ARGV[8] then
	at = '0'
end
if kind == 'list' then
	at = tonumber(at)
	if at > 0 then
		at = moved(KEYS[3], at)
	end
end
for i = 3, #KEYS do
	local all, next = {}, '0'
	if lives(ARGV[i + 6], ARGV[1], KEYS[i]) then
		all, next = some(KEYS[i], at, tostring(at) == '0' and 1 or count)
	else
		passed = passed + 1
	end
	if tostring(next) ~= '0' then
		if i == 3 then -- else it is read from its start, of one moment, if it fits
			answer[6], answer[2] = all, next
			if kind == 'list' then
				answer[2] = string.format('%.0f', next)
			end
		end
		break
	end
	answer[1] = i - 2
	answer[i + 3] = all
	at = kind == 'list' and 0 or '0'
	if passed >= most or bytes >= limit then
		break
	end
end
answer[3], answer[4] = passed, bytes
return answer
