-- acquire_fenced.lua: take the lock, if nobody holds it, with a fencing token, and some for those that it will be handed to.
--
-- Include: token.lua
-- KEYS[1]  lock hash, the name itself: field = owner, value = hold count
-- KEYS[2]  tombstones: zset of owners that were given back; missing as a rule
-- KEYS[3]  queue of a fair lock of that name; missing as a rule
-- KEYS[4]  counter of fencing tokens, string: the last that was given
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
-- ARGV[3]  how many tokens, one at least; the first of them is that of the acquisition
-- ARGV[4]  the highest token of the lock that the client has seen, 0 if none: the new ones are above it
--
-- Returns  integer  acquired: the last of the tokens; 0: refused by the tombstone;
--                   negative: -2 less the remaining lease of the present holder in ms, -1 if that has none
--          error    FAMILY and what else the name is: "fair", "rwlock", "group"
-- Replay   safe: an owner that is there keeps its count and its tokens, since nobody raises the counter while
--          it holds and has no answer; its lease only grows; one that was given back is refused
local there = redis.call('exists', KEYS[1], KEYS[2], KEYS[3])
local left = there == 0 and -2 or redis.call('pttl', KEYS[1])
if left == -2 then
	if there > 0 then
		if redis.call('zscore', KEYS[2], ARGV[2]) then
			return 0
		end
		if redis.call('exists', KEYS[3]) == 1 then
			return redis.error_reply('FAMILY fair')
		end
	end
	local was, bad = known(KEYS[4])
	if bad then
		return redis.error_reply(bad)
	end
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return raise(KEYS[4], was, ARGV[3], ARGV[4])
end
local field = redis.call('hmget', KEYS[1], ARGV[2], 'mode')
if field[1] then
	local was, bad = known(KEYS[4])
	if bad then
		return redis.error_reply(bad)
	end
	-- <=, so that a replay in the same millisecond writes too: a WAIT behind a
	-- script that wrote nothing answers at once.
	if left <= tonumber(ARGV[1]) then
		redis.call('pexpire', KEYS[1], ARGV[1])
	end
	return was
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
return -2 - left
