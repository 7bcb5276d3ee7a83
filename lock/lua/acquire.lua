-- acquire.lua: take the lock, if nobody holds it.
--
-- KEYS[1]  lock hash, the name itself: field = owner, value = hold count
-- KEYS[2]  tombstones: zset of owners that were given back; missing as a rule
-- KEYS[3]  queue of a fair lock of that name; missing as a rule
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
--
-- Returns  nil      acquired
--          integer  remaining lease of the present holder, ms; -1: it has none;
--                   -2: refused by the tombstone
--          error    FAMILY and what else the name is: "fair", "rwlock", "group"
-- Replay   safe: an owner that is there keeps its count, its lease only grows; one that was given back is refused
-- One look at all keys, since the others are nearly always missing.
local there = redis.call('exists', KEYS[1], KEYS[2], KEYS[3])
local left = there == 0 and -2 or redis.call('pttl', KEYS[1])
if left == -2 then
	if there > 0 then
		if redis.call('zscore', KEYS[2], ARGV[2]) then
			return -2
		end
		if redis.call('exists', KEYS[3]) == 1 then
			return redis.error_reply('FAMILY fair')
		end
	end
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
local field = redis.call('hmget', KEYS[1], ARGV[2], 'mode')
if field[1] then
	-- <=, so that a replay in the same millisecond writes too: a WAIT behind a
	-- script that wrote nothing answers at once.
	if left <= tonumber(ARGV[1]) then
		redis.call('pexpire', KEYS[1], ARGV[1])
	end
	return nil
end
if field[2] then
	return redis.error_reply('FAMILY rwlock')
end
if redis.call('hlen', KEYS[1]) > 1 then
	return redis.error_reply('FAMILY group')
end
if redis.call('exists', KEYS[3]) == 1 then
	return redis.error_reply('FAMILY fair')
end
return left
