-- scan.lua: a page of the entries, as many as are asked for, or as have so many bytes. Looking is no access.
--
-- Include: entry.lua
-- Include: runid.lua
-- Include: walk.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- ARGV[1]   where to go on; 0: from the start
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   0: keys alone; 1: with entries; 2: and with times
-- ARGV[4]   how many to ask for first
-- ARGV[5]   how many at most, about
-- ARGV[6]   bytes at most, about
-- ARGV[7…]  more words of HSCAN
--
-- Returns  array  {where to go on, 0: that was all; {key, entry as the hash has it, …}, those that have not expired; with
--                 times {key, entry, when it ends, when it has rested for too long, …}, ms, empty for never; keys alone
--                 {key, …}; how many were passed; bytes read; what the server calls itself, empty: it does not tell, or
--                 that was all in one; keys for whose entries there was no room}
-- Replay   reads: it changes nothing
local values = ARGV[3] ~= '0'

-- chunk is as many of the fields from there on as a command takes: what HSCAN returns has no bound.
local function chunk(fields, first, each)
	local names = {}
	for i = first, math.min(first + 1000 * each - 1, #fields), each do
		names[#names + 1] = fields[i]
	end
	return names
end

local function scores(names)
	return redis.call('zmscore', KEYS[2], unpack(names)), redis.call('zmscore', KEYS[3], unpack(names))
end

-- unread is how many bytes the entries have which rests reads of these fields.
local function unread(fields, each)
	local bytes = 0
	for first = 1, #fields, 1000 * each do
		local names = chunk(fields, first, each)
		local ends, rested = scores(names)
		for n, key in ipairs(names) do
			if over(rested[n]) and not over(ends[n]) then
				bytes = bytes + redis.call('hstrlen', KEYS[1], key)
			end
		end
	end
	return bytes
end

local lapsed = not values and redis.call('zcount', KEYS[3], '-inf', ARGV[2]) > 0
local next, found, passed, bytes, left = pages(KEYS[1], ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]),
	{unpack(ARGV, 7)}, values, lapsed and unread)
local each = values and 2 or 1
local living = {}

-- rests is when an entry has rested for too long. A time that stands there of one that has no idle time is of no use:
-- where the entry was not read, it is read only if that time is over.
local function rests(key, packed, at)
	if packed and idle(packed) == 0 then
		return false
	end
	if packed or not over(at) then
		return at
	end
	packed = redis.call('hget', KEYS[1], key) or '' -- pages has counted its bytes
	return idle(packed) > 0 and at
end

for first = 1, #found, 1000 * each do
	local names = chunk(found, first, each)
	local ends, rested = scores(names)
	for n, key in ipairs(names) do
		local packed, at = values and found[first + 2 * n - 1], ends[n]
		local rest = not over(at) and rests(key, packed, rested[n])
		if not over(at) and not over(rest) then
			living[#living + 1] = key
			if values then
				living[#living + 1] = packed
			end
			if ARGV[3] == '2' then
				living[#living + 1] = at or ''
				living[#living + 1] = rest or ''
			end
		end
	end
end
return {next, living, passed, bytes, (next ~= '0' or ARGV[1] ~= '0') and runid() or '', left}
