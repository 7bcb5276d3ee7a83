-- live.lua: which members of a set with times to live have not expired.

-- lives reports whether a member that ends at a time, or is not there, lives at another time. One without an end may have
-- been written as infinite.
local function lives(ends, now)
	return ends and (ends == 'inf' or tonumber(ends) > tonumber(now))
end
