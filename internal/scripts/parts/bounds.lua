-- bounds.lua: which ranks members of a sorted set have.
--
-- Runs     zcount

-- bounds returns the ranks from one through another bound, the last one plus one. They are scores, as ZCOUNT takes them, or
-- texts, as ZLEXCOUNT takes them: the lowest one begins with [ then.
local function bounds(key, card, lowest, highest)
	local count, first, last = 'zcount', '-inf', '+inf'
	if lowest:sub(1, 1) == '[' then
		count, first, last = 'zlexcount', '-', '+'
	end
	return card - redis.call(count, key, lowest, last), redis.call(count, key, first, highest)
end
