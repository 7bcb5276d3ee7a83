-- log_create.lua: set the rate of a rate limiter on Redisson's keys, if it has none.
--
-- KEYS[1]  setting, the name itself; see log_take.lua
-- ARGV[1]  rate
-- ARGV[2]  interval, ms
-- ARGV[3]  type
-- ARGV[4]  keep-alive, ms, or 0
--
-- Returns  number  1 set, 0 there is one
-- Replay   unsafe: a second run would take the first one's rate for somebody else's, and one that comes late would set it
--          after a delete
if redis.call('hexists', KEYS[1], 'rate') == 1 then
	return 0
end
if redis.call('exists', KEYS[1]) == 1 then
	return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not a rate limiter of Redisson')
end
redis.call('hset', KEYS[1], 'rate', ARGV[1], 'interval', ARGV[2], 'keepAliveTime', ARGV[4], 'type', ARGV[3])
if ARGV[4] ~= '0' then
	redis.call('pexpire', KEYS[1], ARGV[4])
end
return 1
