-- order.lua: whether waiters are queued for a semaphore, in any process.
--
-- KEYS[1]  fair lock of the first of them
-- KEYS[2]  queue of the others
--
-- Returns  integer  0: none is
-- Replay   reads: it changes nothing
return redis.call('exists', KEYS[1], KEYS[2])
