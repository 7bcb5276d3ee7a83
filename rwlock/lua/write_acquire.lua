-- write_acquire.lua: take a read-write lock for writing, if nobody holds it and no readers have their turn.
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  tombstones: zset of owners that were given back; missing as a rule
-- KEYS[3]  claims: zset of clients whose writers wait and go first, score = until when, ms
-- KEYS[4]  turn: readers who go first for a moment
-- KEYS[5]  waiting readers: zset of clients, score = until when, ms
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
-- ARGV[3]  client
-- ARGV[4]  how long readers are held back if it is refused, ms; 0: not at all
-- ARGV[5]  1 if readers of the client wait behind it
--
-- Returns  nil      acquired
--          integer  how long it may take, ms: the rest of the key's time to live, or of a turn of readers; -1: no end
--                   is known; -2: refused by the tombstone
--          array    {the rest of a turn, ms}: it is free, and the turn is that of the client's own readers
--          error    FAMILY and what else the name is: "lock", "group"
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
local function now()
	local time = redis.call('time')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end
local left, ours = redis.call('pttl', name), false
if left == -2 then
	ours = redis.call('zscore', KEYS[4], ARGV[3])
	if ours and ARGV[5] == '0' then
		redis.call('zrem', KEYS[4], ARGV[3]) -- they have gone
		ours = false
	end
	left = redis.call('pttl', KEYS[4])
	-- A turn is for a moment: one that lasts longer was given before the clock was set back.
	if left == -2 or left > 1000 then
		take()
		redis.call('zrem', KEYS[3], ARGV[3])
		return nil
	end
	left = math.max(1, left)
elseif not there[1] then
	return redis.error_reply(redis.call('hlen', name) > 1 and 'FAMILY group' or 'FAMILY lock')
end
if ours then
	-- It gives way to readers of its own process, which its claim would refuse.
	redis.call('zrem', KEYS[3], ARGV[3])
	return {left}
end
if ARGV[4] ~= '0' then
	redis.call('zadd', KEYS[3], string.format('%.0f', now() + ARGV[4]), ARGV[3])
	redis.call('pexpire', KEYS[3], ARGV[4])
end
if ARGV[5] == '1' then
	redis.call('zadd', KEYS[5], string.format('%.0f', now() + 1000), ARGV[3])
	redis.call('pexpire', KEYS[5], 1000)
end
return left
