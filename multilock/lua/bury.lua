-- bury.lua: let an owner never hold the lock again, as an acquire of it may still be on its way.
--
-- KEYS[1]  tombstones: zset of owners that were given back, score = when, ms
-- ARGV[1]  owner
-- ARGV[2]  how long a tombstone stands, ms
--
-- Returns  1
-- Replay   safe: a second run makes the tombstone younger
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- First a write that a full server does not refuse, and that may change
-- nothing: it lets those behind it pass.
redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('zadd', KEYS[1], string.format('%.0f', now), ARGV[1])
-- Behind the new one, so that the key never goes: of a slot on the move it could not come back.
redis.call('zremrangebyscore', KEYS[1], '-inf', string.format('%.0f', now - ARGV[2]))
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
