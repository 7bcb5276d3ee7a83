-- runid.lua: what the server calls itself.

-- runid is a name that the server has from its start to its end; false: it does not tell.
local function runid()
	local info = redis.pcall('info', 'server')
	return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or false
end
