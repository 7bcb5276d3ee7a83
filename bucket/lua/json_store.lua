-- json_store.lua: what all writes of a whole document do.

-- store writes JSON at a path, unless cond is NX and something is there, or XX and nothing is, and returns 1, or 0 if it did
-- not. The document stays for ttl ms, or as long as before if that is keep, or for ever. JSON.SET keeps the time that a key
-- has, so a second command sets it: a user who may not run that is refused before the first.
local function store(key, path, text, cond, ttl)
	local may = redis.acl_check_cmd
	if ttl == '' and may and not may('persist', key) then
		redis.call('persist', key)
	elseif ttl ~= '' and ttl ~= 'keep' and may and not may('pexpire', key, ttl) then
		redis.call('pexpire', key, ttl)
	end
	local did
	if cond == '' then
		did = redis.call('json.set', key, path, text)
	else
		did = redis.call('json.set', key, path, text, cond)
	end
	if not did then
		return 0
	elseif ttl == '' then
		redis.call('persist', key)
	elseif ttl ~= 'keep' then
		redis.call('pexpire', key, ttl)
	end
	return 1
end
