-- give.lua: the common case of move.lua: callers give equally many permits each.
--
-- Include: alike.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- ARGV[1]  how many each gives
-- ARGV[2]  number of the request
-- ARGV[3]  how long a lane is remembered, ms
-- ARGV[4]  how many give them
-- ARGV[5]  channel of given permits
-- ARGV[6]  publish or spublish
--
-- Returns  array  {how many subscribers the message reached, how many gave theirs: the others would make it too many};
--                 {-1}: an older request that comes late, and gives nothing
--          nil    there is no such semaphore; to a further send: there was none
-- Replay   safe: the lane knows the request, also one that gave nothing, if the server is not full
if known then
	return known < 0 and {-1} or {0, known}
end
local gave, k = ARGV[1], ARGV[4]
if k ~= '1' or free + gave > 2147483647 then
	k = math.min(k, math.floor((2147483647 - free) / gave))
	if k < 1 then
		-- A copy gives nothing either. pcall: a full server forgets that.
		redis.pcall('set', KEYS[2], ARGV[2] .. ' 0 0', 'PX', ARGV[3])
		return {0, 0}
	end
	gave = string.format('%.0f', gave * k)
end
-- First a write that a full server does not refuse: it lets those behind it pass.
redis.call('pexpire', KEYS[2], ARGV[3])
local now = redis.call('incrby', KEYS[1], gave)
redis.call('set', KEYS[2], ARGV[2] .. ' 0 ' .. k, 'PX', ARGV[3])
if now < 1 then
	return {0, tonumber(k)} -- Java bears no such number
end
-- pcall: an ACL that denies the channel must not turn a release into an error.
local reached = redis.pcall(ARGV[6], ARGV[5], now)
return {type(reached) == 'number' and reached or 0, tonumber(k)}
