-- key.lua: a key of a multimap, and its values, a list or a set.

-- lives reports whether the key is there, and has not ended. It looks at both keys in any case, so that one of another
-- type is found before anything is written.
local function lives(field, now)
	local ends = redis.call('zscore', KEYS[2], field)
	if redis.call('hexists', KEYS[1], field) == 0 then
		return false
	end
	return not ends or tonumber(ends) > tonumber(now)
end

local function count(kind, values)
	return redis.call(kind == 'list' and 'llen' or 'scard', values)
end

local function all(kind, values)
	if kind == 'list' then
		return redis.call('lrange', values, 0, -1)
	end
	return redis.call('smembers', values)
end

-- expire has a key of Redis go in so many ms; empty: never.
local function expire(key, ms)
	if ms == '' then
		return redis.call('persist', key)
	end
	return redis.call('pexpire', key, ms)
end

-- sooner is ms, or what the server says is left of another time, if that is less.
local function sooner(ms, left)
	if left and left >= 0 and (ms == '' or left < tonumber(ms)) then
		return string.format('%.0f', math.max(left, 1))
	end
	return ms
end
