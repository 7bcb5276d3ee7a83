-- write.lua: entries of a hash, with a time to live where the server has one for a field.

-- write writes one entry. What this server may not know is called before anything is changed.
local function write(field, text, ttl)
	local ends = false
	if ttl == 'keep' then
		ends = redis.call('hpexpiretime', KEYS[1], 'FIELDS', 1, field)[1]
	elseif ttl ~= '' then
		redis.call('hpexpire', KEYS[1], ttl, 'FIELDS', 1, field)
	end
	redis.call('hset', KEYS[1], field, text)
	if ttl == 'keep' then
		if ends and ends > 0 then
			redis.call('hpexpireat', KEYS[1], string.format('%.0f', ends), 'FIELDS', 1, field)
		end
	elseif ttl ~= '' then
		redis.call('hpexpire', KEYS[1], ttl, 'FIELDS', 1, field)
	end
end
