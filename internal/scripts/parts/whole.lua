-- whole.lua: what is done to all keys of an object at once. Where they get other names, KEYS begin with each key and its
-- new name behind it, up to last.

-- present reports whether there is a key of the object, or that one of KEYS if which is not 0.
local function present(last, which)
	for i = 1, last, 2 do
		if (which == 0 or which == i) and redis.call('exists', KEYS[i]) == 1 then
			return true
		end
	end
	return false
end

-- free reports whether nothing has one of the new names, or that of one of KEYS if which is not 0.
local function free(last, which)
	for i = 1, last, 2 do
		if (which == 0 or which == i) and redis.call('exists', KEYS[i + 1]) == 1 then
			return false
		end
	end
	return true
end

-- clear deletes what has one of the new names.
local function clear(last)
	for i = 2, last, 2 do
		redis.call('del', KEYS[i])
	end
end

-- move gives each key its new name, over what has it. Where there is no such key, nothing has the name then.
local function move(last)
	for i = 1, last, 2 do
		if redis.call('exists', KEYS[i]) == 1 then
			redis.call('rename', KEYS[i], KEYS[i + 1])
		else
			redis.call('del', KEYS[i + 1])
		end
	end
end

-- double copies each key, with its end, to its new name, which is free.
local function double(last)
	for i = 1, last, 2 do
		redis.call('copy', KEYS[i], KEYS[i + 1])
	end
end

-- ends has the first n keys end: when is in how many ms, or @ and a time, ms, or empty for never. It returns 1 if that has
-- changed one of them.
local function ends(n, when)
	local changed = 0
	for i = 1, n do
		local did
		if when == '' then
			did = redis.call('persist', KEYS[i])
		elseif string.sub(when, 1, 1) == '@' then
			did = redis.call('pexpireat', KEYS[i], string.sub(when, 2))
		else
			did = redis.call('pexpire', KEYS[i], when)
		end
		changed = math.max(changed, did)
	end
	return changed
end
