-- including.lua: ask a part for its answer.
--
-- Include: part.lua
-- KEYS[1]  not used
-- Returns  integer  42
-- Replay   reads: it changes nothing
return answer(KEYS[1])
