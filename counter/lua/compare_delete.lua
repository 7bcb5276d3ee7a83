-- compare_delete.lua: delete a counter, if its number is the expected one.
--
-- Include: integer.lua
-- KEYS[1]  counter: decimal
-- ARGV[1]  the expected number
--
-- Returns  integer  1 it was the expected one, 0 it was not, or there is none
-- Replay   once: a second run finds nothing
local was, there = integer(KEYS[1])
if not was then
	return there
elseif not there or was ~= ARGV[1] then
	return 0
end
return redis.call('del', KEYS[1])
