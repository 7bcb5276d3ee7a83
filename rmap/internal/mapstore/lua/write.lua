-- write.lua: entries of a hash, with a time to live where the server has one for a field.

-- asked calls what this server may not know, before anything is changed, and returns when a field ends. It reads: behind
-- what writes and takes no memory, as hpexpire does, a full server lets the rest pass.
local function asked(field, ttl)
	return ttl ~= '' and redis.call('hpexpiretime', KEYS[1], 'FIELDS', 1, field)[1]
end

-- write writes one entry.
local function write(field, text, ttl)
	local ends = asked(field, ttl)
	redis.call('hset', KEYS[1], field, text)
	if ttl == 'keep' then
		if ends and ends > 0 then
			redis.call('hpexpireat', KEYS[1], string.format('%.0f', ends), 'FIELDS', 1, field)
		end
	elseif ttl ~= '' then
		redis.call('hpexpire', KEYS[1], ttl, 'FIELDS', 1, field)
	end
end
