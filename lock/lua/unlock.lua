-- unlock.lua: give back one level of a hold that others may take part in.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  unlock latch of this request
-- ARGV[1]  owner
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
-- ARGV[4]  lease of the levels that stay, ms
-- ARGV[5]  how long the latch stands, ms
--
-- Returns  nil    this owner does not hold the lock
--          array  {1 fully released or 0 still held, how many subscribers the message reached}
-- Replay   safe: the latch is looked at first and answers for the first run
local answered = redis.call('get', KEYS[2])
if answered then
	return {tonumber(answered), 0}
end
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
	return nil
end
-- First a write that a full server does not refuse, and that changes nothing:
-- it lets those behind it pass.
redis.call('pexpire', KEYS[2], ARGV[5])
if tonumber(count) > 1 then
	redis.call('hincrby', KEYS[1], ARGV[1], -1)
	if redis.call('pttl', KEYS[1]) < tonumber(ARGV[4]) then
		redis.call('pexpire', KEYS[1], ARGV[4])
	end
	redis.call('set', KEYS[2], '0', 'PX', ARGV[5])
	return {0, 0}
end
redis.call('set', KEYS[2], '1', 'PX', ARGV[5])
redis.call('hdel', KEYS[1], ARGV[1])
local reached = redis.pcall(ARGV[3], ARGV[2], '0')
return {1, type(reached) == 'number' and reached or 0}
