-- write_acquire.lua: take a read-write lock for writing, if nobody holds it and no readers have their turn.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  tombstones: zset of owners that were given back; missing as a rule
-- KEYS[3]  claims: zset of clients whose writers wait and go first, score = until when, ms
-- KEYS[4]  turn: readers who go first for a moment
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
-- ARGV[3]  client
-- ARGV[4]  how long readers are held back if it is refused, ms; 0: not at all
--
-- Returns  nil      acquired
--          integer  how long it may take, ms: the rest of the key's time to live, or of a turn of readers; -1: no end
--                   is known; -2: refused by the tombstone
--          error    FAMILY and what else the name is: "lock"
-- Replay   safe: an owner that is there keeps its count, its lease only grows; one that was given back is refused
local name, own, lease = KEYS[1], ARGV[2], tonumber(ARGV[1])

local function take()
	redis.call('hset', name, 'mode', 'write', own, 1)
	redis.call('pexpire', name, lease)
end

if redis.call('exists', name, KEYS[2], KEYS[3], KEYS[4]) == 0 then
	take()
	return nil
end
local there = redis.call('hmget', name, 'mode', own)
if there[2] then
	if redis.call('pttl', name) <= lease then -- see read_acquire.lua
		redis.call('pexpire', name, lease)
	end
	return nil
end
if redis.call('zscore', KEYS[2], own) then
	return -2
end
local left = redis.call('pttl', name)
if left == -2 then
	left = redis.call('pttl', KEYS[4])
	if left == -2 then
		take()
		redis.call('zrem', KEYS[3], ARGV[3])
		return nil
	end
	left = math.max(1, left)
elseif not there[1] then
	return redis.error_reply('FAMILY lock')
end
if ARGV[4] ~= '0' then
	local time = redis.call('time')
	local until_ = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[4]
	redis.call('zadd', KEYS[3], string.format('%.0f', until_), ARGV[3])
	redis.call('pexpire', KEYS[3], ARGV[4])
end
return left
