-- length.lua: how many entries a stream has.
--
-- KEYS[1]  stream
--
-- Returns  integer  so many; 0 without a stream
-- Replay   reads: it changes nothing
return redis.call('xlen', KEYS[1])
