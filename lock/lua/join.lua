-- join.lua: take part in somebody's hold, with a level of its own.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  join latch of this request
-- ARGV[1]  owner
-- ARGV[2]  lease, ms
-- ARGV[3]  how long the latch stands, ms
--
-- Returns  1  joined; 0  this owner does not hold the lock, or the request was taken back
-- Replay   safe: the latch is looked at first and answers for the first run
local answered = redis.call('get', KEYS[2])
if answered then
	return tonumber(answered)
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
	redis.call('pexpire', KEYS[1], ARGV[2])
end
redis.call('set', KEYS[2], '1', 'PX', ARGV[3])
return 1
