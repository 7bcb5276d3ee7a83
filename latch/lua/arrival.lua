-- arrival.lua: the arrival of a party, at KEYS[4].
-- arrival is the generation that a party has arrived for, -1 if it has left, nil if it never came; and how many had
-- arrived with it.
local function arrival()
	local gen, n = string.match(redis.call('get', KEYS[4]) or '', '^(%-?%d+) ?(%d*)$')
	return gen, tonumber(n) or 0
end
