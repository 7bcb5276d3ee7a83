-- unlock.lua: give back one level of a hold that others may take part in.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  channel of releases
-- KEYS[3]  unlock latch of this request
-- ARGV[1]  owner
-- ARGV[2]  publish or spublish
-- ARGV[3]  lease of the levels that stay, ms
-- ARGV[4]  how long the latch stands, ms
--
-- Returns  nil    this owner does not hold the lock
--          array  {1 fully released or 0 still held, how many subscribers the message reached}
-- Replay   safe: the latch is looked at first and answers for the first run
local answered = redis.call('get', KEYS[3])
if answered then
	return {tonumber(answered), 0}
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return nil
end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then
	if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then
		redis.call('pexpire', KEYS[1], ARGV[3])
	end
	redis.call('set', KEYS[3], '0', 'PX', ARGV[4])
	return {0, 0}
end
redis.call('del', KEYS[1])
redis.call('set', KEYS[3], '1', 'PX', ARGV[4])
local reached = redis.pcall(ARGV[2], KEYS[2], '0')
return {1, type(reached) == 'number' and reached or 0}
