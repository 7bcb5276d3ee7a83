-- uptime.lua: how long ago the server was started, for a member of a red lock.
--
-- KEYS[1]  the lock: it says which server is asked
--
-- Returns  integer  whole seconds, rounded down
--          nil      the server does not tell
-- Replay   safe: it reads
local seconds = string.match(redis.call('info', 'server'), 'uptime_in_seconds:(%d+)')
return KEYS[1] and seconds and tonumber(seconds)
