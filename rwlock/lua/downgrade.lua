-- downgrade.lua: put a read hold in the place of a private write hold, in one step, and let all readers in.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  the reader's own key, which stands for as long as its lease
-- KEYS[3]  waiting readers: zset of clients
-- KEYS[4]  turn: readers who go first for a moment
-- ARGV[1]  owner of the write hold
-- ARGV[2]  owner of the read hold, fresh for this request
-- ARGV[3]  lease of the read hold, ms
-- ARGV[4]  channel of releases
-- ARGV[5]  publish or spublish
-- ARGV[6]  how long a turn of readers is, ms
--
-- Returns  integer  how many subscribers the message reached, 0 also if it was done before; -1: neither of the two
--                   holds the lock
-- Replay   safe: the owner of the write hold is fresh, so a second run finds it gone and changes nothing
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
	return redis.call('hexists', KEYS[1], ARGV[2]) - 1
end
redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], 1)
redis.call('set', KEYS[2], 1, 'px', ARGV[3])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then
	redis.call('pexpire', KEYS[1], ARGV[3])
end
if redis.call('exists', KEYS[3]) == 1 then
	redis.call('rename', KEYS[3], KEYS[4])
	redis.call('pexpire', KEYS[4], ARGV[6])
end
local reached = redis.pcall(ARGV[5], ARGV[4], '1')
return type(reached) == 'number' and reached or 0
