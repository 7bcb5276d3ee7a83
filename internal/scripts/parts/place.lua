-- place.lua: where a walk through a sorted set goes on.
--
-- Runs     zrange zrevrange zrank zrevrank

-- less compares bytes, as the server does. Lua's own comparison depends on the locale.
local function less(a, b)
	local alike, differs = 0, math.min(#a, #b)
	if a:sub(1, differs) == b:sub(1, differs) then
		return #a < #b
	end
	while differs - alike > 1 do
		local middle = math.floor((alike + differs) / 2)
		if a:sub(alike + 1, middle) == b:sub(alike + 1, middle) then
			alike = middle
		else
			differs = middle
		end
	end
	return a:byte(differs) < b:byte(differs)
end

-- past returns how many members come up to a place in the order, where a member is or was. If back, the order is that of falling
-- scores.
local function past(key, back, score, member)
	if redis.call('zscore', key, member) == score then
		return redis.call(back and 'zrevrank' or 'zrank', key, member) + 1
	end
	local low = back and redis.call('zcount', key, '(' .. score, '+inf') or redis.call('zcount', key, '-inf', '(' .. score)
	local high = low + redis.call('zcount', key, score, score)
	while low < high do
		local middle = math.floor((low + high) / 2)
		local at = redis.call(back and 'zrevrange' or 'zrange', key, middle, middle)[1]
		if at == member or (back and less(member, at)) or (not back and less(at, member)) then
			low = middle + 1
		else
			high = middle
		end
	end
	return low
end
