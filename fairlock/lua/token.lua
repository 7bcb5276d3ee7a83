-- token.lua: fencing tokens, which rise with each acquisition.

-- A new token is above the last one, and at least the server's time in
-- microseconds, so that it rises over the loss of the counter too.
local function raise(counter)
	local t = redis.call('time')
	local token = math.max(tonumber(redis.call('get', counter) or 0) + 1, t[1] * 1000000 + t[2])
	redis.call('set', counter, string.format('%.0f', token))
	return token
end
