-- server.lua: which server has a map, for a walk that takes several pages.
--
-- Include: runid.lua
-- KEYS[1]  map: it says which server is asked
--
-- Returns  text  what the server calls itself from its start to its end
--          nil   it does not tell
-- Replay   reads: it changes nothing
return KEYS[1] and runid()
