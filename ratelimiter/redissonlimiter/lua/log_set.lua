-- log_set.lua: set the rate of a rate limiter on Redisson's keys.
--
-- KEYS[1]  setting, the name itself; see log_take.lua
-- KEYS[2]  permits that are left, for all clients
-- KEYS[3]  log of what was granted, for all clients
-- KEYS[4]  KEYS[2] of this client alone
-- KEYS[5]  KEYS[3] of this client alone
-- ARGV[1]  rate
-- ARGV[2]  interval, ms
-- ARGV[3]  type
-- ARGV[4]  keep-alive, ms, or 0
-- ARGV[5]  1 if what was taken stays taken
-- ARGV[6]  1 if there must be a rate already
--
-- Returns  number  1 set, 0 there was none
-- Replay   unsafe: a second run that comes late undoes another's change
local old = redis.call('hmget', KEYS[1], 'rate', 'type')
local there = redis.call('exists', KEYS[1]) == 1
if there and not old[1] then
	return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not a rate limiter of Redisson')
end
if not there and ARGV[6] == '1' then
	return 0
end
redis.call('hset', KEYS[1], 'rate', ARGV[1], 'interval', ARGV[2], 'keepAliveTime', ARGV[4], 'type', ARGV[3])
if ARGV[4] ~= '0' then
	redis.call('pexpire', KEYS[1], ARGV[4])
else
	redis.call('persist', KEYS[1]) -- the limiter would vanish with an earlier keep-alive
end
if ARGV[5] ~= '1' or (old[2] and old[2] ~= ARGV[3]) then
	redis.call('del', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
	return 1
end

local own, value, log, interval = ARGV[3] == '1', KEYS[2], KEYS[3], tonumber(ARGV[2])
if own then
	value, log = KEYS[4], KEYS[5]
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('zremrangebyscore', log, '-inf', string.format('%.0f', now - interval))
local left, all = tonumber(ARGV[1]), redis.call('zrange', log, 0, -1)
for i = 1, #all do
	local a, b, c, d = string.byte(all[i], -4, -1)
	left = left - (a + b * 256 + c * 65536 + d * 16777216)
end
-- Below 0 more was taken than the new rate allows: as many have to expire before the next one is granted.
redis.call('set', value, string.format('%.0f', left))
local keep = tonumber(ARGV[4])
if own and keep < interval then
	keep = interval
end
if keep > 0 then
	redis.call('pexpire', value, string.format('%.0f', keep))
	redis.call('pexpire', log, string.format('%.0f', keep))
else
	redis.call('persist', log)
end
return 1
