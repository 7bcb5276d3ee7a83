-- acquire.lua: take the lock, if nobody holds it.
--
-- KEYS[1]  lock hash, the name itself: field = owner, value = hold count
-- KEYS[2]  tombstones: zset of owners that were given back; missing as a rule
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
--
-- Returns  nil      acquired
--          integer  remaining lease of the present holder, ms; -1: it has none;
--                   -2: refused by the tombstone
-- Replay   safe: an owner that is there keeps its count, its lease only grows; one that was given back is refused
-- One look at both keys, since the second is nearly always missing.
if redis.call('exists', KEYS[1], KEYS[2]) == 0
	or (redis.call('exists', KEYS[1]) == 0 and not redis.call('zscore', KEYS[2], ARGV[2])) then
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
local left = redis.call('pttl', KEYS[1])
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	-- <=, so that a replay in the same millisecond writes too: a WAIT behind a
	-- script that wrote nothing answers at once.
	if left <= tonumber(ARGV[1]) then
		redis.call('pexpire', KEYS[1], ARGV[1])
	end
	return nil
end
return left
