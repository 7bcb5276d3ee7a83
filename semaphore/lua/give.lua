-- give.lua: the common case of move.lua: callers give equally many permits each. It has no functions, since making one
-- costs the server more than what it does.
--
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
--          nil    there is no such semaphore
-- Replay   safe: the lane knows the request; one that gave nothing may be decided anew
local got = redis.call('mget', KEYS[1], KEYS[2])
if got[2] then
	local n, k = string.match(got[2], '^(%d+) %d+ ?(%d*)')
	local older = tonumber(n) - ARGV[2]
	if older == 0 and k ~= '' then
		redis.call('pexpire', KEYS[2], ARGV[3])
		return {0, tonumber(k)}
	elseif older >= 0 then
		return {-1}
	end
end
local was = got[1] and (string.match(got[1], '^%-?[1-9]%d*$') or got[1] == '0') and #got[1] <= 16 and tonumber(got[1])
if not was then
	local kind = redis.call('type', KEYS[1])
	kind = kind.ok or kind
	if kind == 'none' then
		return nil
	end
	kind = got[1] and 'string that is no integer' or kind
	return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a number of permits')
end
local each = tonumber(ARGV[1])
local k = math.min(tonumber(ARGV[4]), math.floor((2147483647 - was) / each))
if k < 1 then
	return {0, 0}
end
-- First a write that a full server does not refuse: it lets those behind it pass.
redis.call('pexpire', KEYS[2], ARGV[3])
local now = redis.call('incrby', KEYS[1], string.format('%.0f', each * k))
redis.call('set', KEYS[2], ARGV[2] .. ' 0 ' .. k, 'PX', ARGV[3])
if now < 1 then
	return {0, k} -- Java bears no such number
end
-- pcall: an ACL that denies the channel must not turn a release into an error.
local reached = redis.pcall(ARGV[6], ARGV[5], now)
return {type(reached) == 'number' and reached or 0, k}
