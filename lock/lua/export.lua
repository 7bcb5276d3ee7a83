-- export.lua: rename the owner of a private hold to one that others may join.
--
-- KEYS[1]  lock hash, the name itself
-- ARGV[1]  private owner
-- ARGV[2]  exported owner, fresh for this request
--
-- Returns  1  the hold stands under the exported owner; 0  neither of the two holds the lock
-- Replay   safe: a second run finds the rename done
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	return 1
end
local count = redis.call('hget', KEYS[1], ARGV[1])
if not count then
	return 0
end
-- First a write that a full server does not refuse, and that changes nothing:
-- it lets the next one pass. An unlock may have an export to settle.
redis.call('hdel', KEYS[1], ARGV[2])
-- The new field first: a hash that loses its last field is gone, with its lease.
redis.call('hset', KEYS[1], ARGV[2], count)
redis.call('hdel', KEYS[1], ARGV[1])
return 1
