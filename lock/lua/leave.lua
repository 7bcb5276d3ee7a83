-- leave.lua: undo a join whose answer nobody waited for, or refuse it if it comes later.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  channel of releases
-- KEYS[3]  join latch of the request
-- ARGV[1]  owner
-- ARGV[2]  publish or spublish
-- ARGV[3]  how long the latch stands, ms
--
-- Returns  1  a level was given back; 0  there was none to give
-- Replay   safe: the latch says that this request has no level any more
local joined = redis.call('get', KEYS[3])
redis.call('set', KEYS[3], '0', 'PX', ARGV[3])
if joined ~= '1' or redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return 0
end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) <= 0 then
	redis.call('del', KEYS[1])
	redis.pcall(ARGV[2], KEYS[2], '0')
end
return 1
