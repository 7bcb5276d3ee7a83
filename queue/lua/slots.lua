-- slots.lua: that a bounded queue has room for more elements.

-- announce tells those who wait that there is room: sharded is '1' on a cluster where Java's put listens on such a
-- channel. Both kinds are told then, since Java's own calls use one or the other.
local function announce(channel, sharded, n)
	-- pcall: an ACL that denies the channel must not turn a release into an error.
	redis.pcall('publish', channel, string.format('%.0f', n))
	if sharded == '1' then
		redis.pcall('spublish', channel, string.format('%.0f', n))
	end
end
