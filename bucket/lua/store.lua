-- store.lua: what all writes of a bucket do.

-- store writes a value. It stays for ttl ms, or as long as what was there, or for ever.
local function store(key, text, ttl)
	if ttl == '' then
		redis.call('set', key, text)
	elseif ttl == 'keep' then
		redis.call('set', key, text, 'KEEPTTL')
	else
		redis.call('set', key, text, 'PX', ttl)
	end
end
