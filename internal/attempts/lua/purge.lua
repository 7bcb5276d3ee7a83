-- purge.lua: delete what a group has put aside.
--
-- KEYS[1]  stream of what was put aside
--
-- Returns  integer  how many entries there were
-- Replay   safe: they are gone; a second run counts those that came meanwhile
local n = redis.call('xlen', KEYS[1])
redis.call('unlink', KEYS[1])
return n
