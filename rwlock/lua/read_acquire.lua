-- read_acquire.lua: take a read-write lock for reading, unless somebody writes or readers are held back.
--
-- KEYS[1]  lock hash, the name itself: mode = read or write, else field = owner, value = hold count
-- KEYS[2]  tombstones: zset of owners that were given back; missing as a rule
-- KEYS[3]  claims: zset of clients whose writers wait and go first, score = until when, ms
-- KEYS[4]  the reader's own key, which stands for as long as its lease
-- KEYS[5]  waiting readers: zset of clients that were refused, score = until when, ms
-- KEYS[6]  turn: waiting readers at the last write release, who go first for a moment
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
-- ARGV[3]  client
-- ARGV[4]  1 if it waits when it is refused; 2 if it has stood back for so long that it goes past writers that wait
--
-- Returns  nil      acquired
--          integer  how long it may take, ms: the rest of a writer's lease; -1: no end is known; -2: refused by the
--                   tombstone; -3: acquired, and a writer waits
--          array    {the rest of a claim, ms}: refused, since a writer waits
--          error    FAMILY and what else the name is: "lock", "group"
-- Replay   safe: an owner that is there keeps its count, its leases only grow; one that was given back is refused
local name, own, lease = KEYS[1], ARGV[2], tonumber(ARGV[1])

local function take()
	redis.call('hset', name, 'mode', 'read', own, 1)
	redis.call('set', KEYS[4], 1, 'px', lease)
	if redis.call('pttl', name) < lease then
		redis.call('pexpire', name, lease)
	end
end

-- One look at all keys, since the others are nearly always missing.
if redis.call('exists', name, KEYS[2], KEYS[3], KEYS[5], KEYS[6]) == 0 then
	take()
	return nil
end
local there = redis.call('hmget', name, 'mode', own)
if there[2] then
	if redis.call('pttl', KEYS[4]) < lease then
		redis.call('set', KEYS[4], 1, 'px', lease)
	end
	-- <=, so that a replay in the same millisecond writes too: a WAIT behind a
	-- script that wrote nothing answers at once.
	if redis.call('pttl', name) <= lease then
		redis.call('pexpire', name, lease)
	end
	return nil
end
if redis.call('zscore', KEYS[2], own) then
	return -2
end
local mode = there[1]
if not mode and redis.call('exists', name) == 1 then
	return redis.error_reply(redis.call('hlen', name) > 1 and 'FAMILY group' or 'FAMILY lock')
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function refused(left)
	if ARGV[4] ~= '0' then
		redis.call('zadd', KEYS[5], string.format('%.0f', now + 1000), ARGV[3])
		redis.call('pexpire', KEYS[5], 1000)
	end
	return left
end
if mode == 'write' then
	return refused(redis.call('pttl', name))
end
-- A claim is for a second: one that ends later was made before the clock was set back.
local claim = redis.call('zrevrangebyscore', KEYS[3], string.format('%.0f', now + 1000), string.format('(%.0f', now), 'withscores', 'limit', 0, 1)
local rest = claim[2] and tonumber(claim[2]) - now or 0
if rest > 0 and ARGV[4] ~= '2' and not redis.call('zscore', KEYS[6], ARGV[3]) then
	return {refused(rest)}
end
take()
redis.call('zrem', KEYS[5], ARGV[3])
redis.call('zrem', KEYS[6], ARGV[3])
if rest > 0 then
	return -3
end
return nil
