-- options.lua: the options of a message, as opt keeps them: "priority|expires|length of the unique key|unique key, group".
-- A message with terms of its own has ":attempts:waits" after the length. One whose end somebody awaits has ":attempts:waits:t".

-- parse returns priority, expiry, unique key, group, the attempts and waits that are the message's own, and whether somebody
-- awaits its end.
local function parse(text)
	if not text then
		return 0, 0, '', '', '', '', false
	end
	local priority, expires, n, own, rest = string.match(text, '^(%d+)|(%d+)|(%d+)([^|]*)|(.*)$')
	local attempts, waits, awaited = '', '', ''
	if own ~= '' then
		attempts, waits, awaited = string.match(own, '^:(%d*):([%d ]*):?(t?)$')
	end
	n = tonumber(n)
	return tonumber(priority), tonumber(expires), string.sub(rest, 1, n), string.sub(rest, n + 1), attempts, waits, awaited == 't'
end
