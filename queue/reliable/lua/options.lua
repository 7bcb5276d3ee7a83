-- options.lua: the options of a message, as opt keeps them: "priority|expires|length of the unique key|unique key, group".
-- A message with terms of its own has ":attempts:waits" after the length.

-- parse returns priority, expiry, unique key, group, and the attempts and waits that are the message's own.
local function parse(text)
	if not text then
		return 0, 0, '', '', '', ''
	end
	local priority, expires, n, own, rest = string.match(text, '^(%d+)|(%d+)|(%d+)([^|]*)|(.*)$')
	local attempts, waits = '', ''
	if own ~= '' then
		attempts, waits = string.match(own, '^:(%d*):([%d ]*)$')
	end
	n = tonumber(n)
	return tonumber(priority), tonumber(expires), string.sub(rest, 1, n), string.sub(rest, n + 1), attempts, waits
end
