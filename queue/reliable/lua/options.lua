-- options.lua: the options of a message, as opt keeps them: "priority|expires|length of the unique key|unique key, group".

local function parse(text)
	if not text then
		return 0, 0, '', ''
	end
	local priority, expires, n, rest = string.match(text, '^(%d+)|(%d+)|(%d+)|(.*)$')
	n = tonumber(n)
	return tonumber(priority), tonumber(expires), string.sub(rest, 1, n), string.sub(rest, n + 1)
end
