-- ttl.lua: how long an entry stays. A server that does not know the command says so before it says that the slot has
-- moved, unless it is a script's.
--
-- KEYS[1]  map
-- ARGV[1]  field
--
-- Returns  integer  ms; -1: it has no end; -2: there is none
-- Replay   reads: it changes nothing
local got = redis.call('hpttl', KEYS[1], 'FIELDS', 1, ARGV[1])
return got and got[1] or -2
