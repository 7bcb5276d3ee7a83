-- page.lua: some members of a sorted set in their order, for a walk.
--
-- Include: entries.lua
-- Include: bounds.lua
-- Include: place.lua
-- KEYS[1]  set
-- ARGV[1]  1: by falling scores, 0: by rising ones
-- ARGV[2]  the lowest score, as ZCOUNT takes it, or the first text, as ZLEXCOUNT takes it
-- ARGV[3]  the highest score, or the last text
-- ARGV[4]  how many members at most
-- ARGV[5]  bytes at most, about
-- ARGV[6]  first: the walk begins; rank: it begins with a rank; after: it goes on after a member, which may be gone
-- ARGV[7]  that rank, from the end if negative, or the score of that member
-- ARGV[8]  the last rank, or that member
--
-- Returns  array  {members, each followed by its score; how many come after them}
-- Replay   reads: it changes nothing
local key, back = KEYS[1], ARGV[1] == '1'

local card = redis.call('zcard', key)
local from, to = 0, card -- without to itself
if ARGV[2] ~= '-inf' or ARGV[3] ~= '+inf' then
	local low, high = bounds(key, card, ARGV[2], ARGV[3])
	from = back and card - high or low
	to = back and card - low or high
end
if ARGV[6] == 'rank' then
	from, to = tonumber(ARGV[7]), tonumber(ARGV[8]) + 1
	if from < 0 then
		from = math.max(from + card, 0)
	end
	if to <= 0 then
		to = to + card
	end
	to = math.min(to, card)
elseif ARGV[6] == 'after' then
	from = math.max(from, past(key, back, ARGV[7], ARGV[8]))
end
local found, n = entries(key, back, from, math.min(tonumber(ARGV[4]), math.max(to - from, 0)), tonumber(ARGV[5]))
return {found, math.max(to - from - n, 0)}
