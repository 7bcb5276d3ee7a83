-- leave.lua: undo a join whose answer nobody waited for, or refuse it if it comes later.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  join latch of the request
-- ARGV[1]  owner
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
-- ARGV[4]  how long the latch stands, ms
--
-- Returns  1  a level was given back; 0  there was none to give
-- Replay   safe: the latch says that this request has no level any more
local joined = redis.call('get', KEYS[2])
-- First a write that a full server does not refuse, and that may change
-- nothing: it lets those behind it pass.
redis.call('pexpire', KEYS[2], ARGV[4])
redis.call('set', KEYS[2], '0', 'PX', ARGV[4])
local count = joined == '1' and redis.call('hget', KEYS[1], ARGV[1])
if not count then
	return 0
end
if tonumber(count) > 1 then
	redis.call('hincrby', KEYS[1], ARGV[1], -1)
	return 1
end
redis.call('hdel', KEYS[1], ARGV[1])
redis.pcall(ARGV[3], ARGV[2], '0')
return 1
