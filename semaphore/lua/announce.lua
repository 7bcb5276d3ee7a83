-- announce.lua: tell those who wait that there are permits.

-- announce returns how many the message reached. Java bears no number below 1.
local function announce(publish, channel, n)
	if n < 1 then
		return 0
	end
	-- pcall: an ACL that denies the channel must not turn a release into an error.
	local reached = redis.pcall(publish, channel, string.format('%.0f', n))
	return type(reached) == 'number' and reached or 0
end
