-- permit_bury.lua: let ids never take permits again, as an acquire of them may still be on its way.
--
-- Include: leases.lua
-- KEYS[1]  tombstones: zset of ids that were given back, score = when, ms
-- ARGV[1]  how long a tombstone stands, ms
-- ARGV[n…]  ids, 16 bytes each
--
-- Returns  1
-- Replay   safe: a second run makes the tombstones younger
local now = clock()
-- First a write that a full server does not refuse, and that may change nothing: it lets those behind it pass.
redis.call('pexpire', KEYS[1], ARGV[1])
for i = 2, #ARGV do
	redis.call('zadd', KEYS[1], whole(now), ARGV[i])
end
-- Behind the new ones, so that the key never goes: of a slot on the move it could not come back.
redis.call('zremrangebyscore', KEYS[1], '-inf', whole(now - ARGV[1]))
redis.call('pexpire', KEYS[1], ARGV[1])
return 1
