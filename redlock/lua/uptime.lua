-- uptime.lua: how long ago the server was started, for a member of a red lock.
--
-- KEYS[1]  the lock: it says which server is asked
--
-- Returns  integer  the whole second that it is now less the one of the start: nearly one too many, or too few; negative
--                   if its clock was set back
--          nil      the server does not tell
-- Replay   reads: it changes nothing
local seconds = string.match(redis.call('info', 'server'), 'uptime_in_seconds:(-?%d+)')
return KEYS[1] and seconds and tonumber(seconds)
