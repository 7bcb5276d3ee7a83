-- server.lua: which server has a map, for a walk that takes several pages.
--
-- KEYS[1]  map: it says which server is asked
--
-- Returns  text  what the server calls itself from its start to its end
--          nil   it does not tell
-- Replay   safe: it reads
local info = redis.pcall('info', 'server')
return KEYS[1] and type(info) == 'string' and string.match(info, 'run_id:(%w+)')
