-- depart.lua: a party is about to leave a double barrier.
--
-- KEYS[1]  who is inside, of its generation: zset of parties by the end of their leases, ms of the server's clock
-- ARGV[1]  channel of generations that ended
-- ARGV[2]  publish or spublish
-- ARGV[3]  party
-- ARGV[4]  its generation
--
-- Returns  array  {1 it was inside, 0 it was not or its lease had ended; how many are inside still}
-- Replay   safe: a second run finds it gone
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local alive = '(' .. string.format('%.0f', now)
local ends = redis.call('zscore', KEYS[1], ARGV[3])
local left = redis.call('zcount', KEYS[1], alive, '+inf')
local was = ends and tonumber(ends) > now and 1 or 0
redis.call('zrem', KEYS[1], ARGV[3])
if left - was == 0 then
	-- pcall: an ACL that denies the channel must not keep a party from leaving.
	redis.pcall(ARGV[2], ARGV[1], ARGV[4])
end
return {was, left - was}
