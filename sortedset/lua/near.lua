-- near.lua: some members of a set of places whose scores are in ranges, and how many there are.
--
-- Include: place.lua
-- KEYS[1]   set
-- ARGV[1]   how many members at most
-- ARGV[2]   bytes at most, about
-- ARGV[3]   if there is no room for all of them: none: the answer has no members; some: as many as there is room for
-- ARGV[4]   the score of the member after which to go on; empty: from the start
-- ARGV[5]   that member, which may be gone
-- ARGV[i…]  for each range, in their order, the lowest and the highest score, as ZCOUNT takes them
--
-- Returns  array  {how many members there are; members, each followed by its score}
-- Replay   reads: it changes nothing
local key, most, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local start, ranges, sum = 0, {}, 0
if ARGV[4] ~= '' then
	start = past(key, false, ARGV[4], ARGV[5])
end
for i = 6, #ARGV, 2 do
	local n = redis.call('zcount', key, ARGV[i], ARGV[i + 1])
	if n > 0 then
		local range = {i, 0, n} -- how many of its members come before the place to go on
		if start > 0 then
			range[2] = math.max(start - redis.call('zcount', key, '-inf', '(' .. ARGV[i]), 0)
		end
		if range[2] < n then
			ranges[#ranges + 1] = range
			sum = sum + n - range[2]
		end
	end
end
local found, n, bytes, count = {}, 0, 0, 1
if sum > most and ARGV[3] == 'none' then
	return {sum, found}
end
for _, range in ipairs(ranges) do
	local i, at, to = unpack(range)
	local first
	-- One is read first, and then at most four times as many as the last time: 8 at most, or a quarter of those before, up to 64. Large ones
	-- may follow small ones.
	while at < to and n < most do
		local want, got = math.min(count, to - at, most - n)
		if want == to then
			got = redis.call('zrangebyscore', key, ARGV[i], ARGV[i + 1], 'WITHSCORES')
		else
			first = first or redis.call('zcount', key, '-inf', '(' .. ARGV[i])
			got = redis.call('zrange', key, first + at, first + at + want - 1, 'WITHSCORES')
		end
		for j = 1, #got, 2 do
			bytes = bytes + #got[j]
			if bytes > limit and n > 0 then
				return {sum, ARGV[3] == 'none' and {} or found}
			end
			found[2 * n + 1] = got[j]
			found[2 * n + 2] = got[j + 1]
			n = n + 1
		end
		at = at + #got / 2
		local like = math.max(1, math.floor((limit - bytes) * n / math.max(bytes, 1))) -- if the next ones are like these
		count = math.min(4 * count, math.max(8, math.floor(n / 4)), 64, like)
	end
end
return {sum, found}
