-- key.lua: a key of a multimap, and its values, a list or a set.
--
-- Runs     llen scard

-- own reports whether the key is in the index. A field whose value is not the id of its key, which ends the name of the
-- key's values, belongs to a map or to another kind of hash: then the script ends before it has written anything.
local function own(field, values)
	local id = redis.call('hget', KEYS[1], field)
	if id and id ~= string.sub(values, -22) then
		error('WRONGKIND ' .. KEYS[1] .. ' is a hash that is no multimap', 0)
	end
	return id
end

-- lives reports whether the key is there, and has not ended. It looks at both keys in any case, so that one of another
-- type is found before anything is written.
local function lives(field, now, values)
	local ends = redis.call('zscore', KEYS[2], field)
	if not own(field, values) then
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
