-- waiters.lua: who waits for the lock. A script, since commands that only read
-- may be routed to a replica.
--
-- KEYS[1]  queue
--
-- Returns  array  owners, the next one first
-- Replay   reads: it changes nothing
return redis.call('lrange', KEYS[1], 0, -1)
