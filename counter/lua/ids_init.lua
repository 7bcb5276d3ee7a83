-- ids_init.lua: set where ids begin, and how many are in a block, unless that is set.
--
-- KEYS[1]  ids: the next one, decimal
-- KEYS[2]  how many are in a block: decimal
-- ARGV[1]  the first id
-- ARGV[2]  how many are in a block
--
-- Returns  integer  1 it set how many are in a block, 0 that was set before
-- Replay   once: a second run finds what the first has set
redis.call('set', KEYS[1], ARGV[1], 'NX')
return redis.call('set', KEYS[2], ARGV[2], 'NX') and 1 or 0
