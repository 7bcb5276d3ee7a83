-- open.lua: let those pass who wait.

-- open forgets the count and who has counted down, and notes when: those who look only after it was armed anew see by
-- that that it opened. It is the last thing that touches the keys.
local function open()
	local t = redis.call('time')
	redis.call('set', KEYS[3], string.format('%.0f', math.max(t[1] * 1000000 + t[2], opened() + 1)), 'PX', ARGV[2])
	redis.call('del', KEYS[4], KEYS[5])
	redis.call('del', KEYS[1])
	-- pcall: an ACL that denies the channel must not turn a count down into an error.
	redis.pcall(ARGV[4], ARGV[3], '0')
end
