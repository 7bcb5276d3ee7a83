-- expire.lua: let all keys of an object go at the same time, or stay.
--
-- Include: whole.lua
-- KEYS[i…]  each key of the object
-- ARGV[1]   in how many ms; @ and a time, ms: then; empty: never
--
-- Returns  integer  1 there is such an object, and its time was changed, 0 else
-- Replay   once: somebody else may have changed it in between
return ends(#KEYS, ARGV[1])
