-- look.lua: how many permits are free.
--
-- Include: permits.lua
-- KEYS[1]  permits, the name itself: decimal
--
-- Returns  integer  how many; negative: they were reduced by more than were free
--          nil      there is no such semaphore
-- Replay   reads: it changes nothing
local now, wrong = free()
return now or wrong
