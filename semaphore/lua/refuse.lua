-- refuse.lua: the memory of orders that changed nothing.

-- refuse has a copy of this order change nothing either, whatever stands there by then. pcall: a full server forgets that, and
-- must not turn the answer into an error.
local function refuse()
	redis.pcall('set', KEYS[2], ARGV[1] .. ' 0 0', 'PX', ARGV[2])
	return {0}
end
