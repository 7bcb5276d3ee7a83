-- remove_range.lua: remove members of a sorted set by their ranks, their scores or their texts, some at a time.
--
-- Include: bounds.lua
-- KEYS[1]  set
-- ARGV[1]  rank, or bounds
-- ARGV[2]  the first rank, from the end if negative, or the lowest score, as ZCOUNT takes it, or text, as ZLEXCOUNT does
-- ARGV[3]  the last rank, or the highest score or text
-- ARGV[4]  how many at most
-- ARGV[5]  bytes at most, about: to free memory takes time
--
-- Returns  array  {how many were removed; how many of the range are left; the first rank}
-- Replay   once: a second run removes others
local card = redis.call('zcard', KEYS[1])
local from, to
if ARGV[1] == 'rank' then
	from, to = tonumber(ARGV[2]), tonumber(ARGV[3]) + 1
	if from < 0 then
		from = math.max(from + card, 0)
	end
	if to <= 0 then
		to = to + card
	end
	to = math.min(to, card)
else
	from, to = bounds(KEYS[1], card, ARGV[2], ARGV[3])
end
local n = math.min(to - from, tonumber(ARGV[4]))
if n < 1 then
	return {0, 0, from}
end
local size = 1 -- of the largest of some
for i = 0, n > 1 and 4 or -1 do
	local at = from + math.floor((n - 1) * i / 4)
	size = math.max(size, #redis.call('zrange', KEYS[1], at, at)[1])
end
n = math.max(1, math.min(n, math.floor(tonumber(ARGV[5]) / size)))
redis.call('zremrangebyrank', KEYS[1], from, from + n - 1)
return {n, to - from - n, from}
