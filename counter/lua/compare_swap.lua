-- compare_swap.lua: another number in the place of a counter's, if that is the expected one.
--
-- Include: integer.lua
-- Include: put.lua
-- KEYS[1]  counter: decimal
-- ARGV[1]  the expected number; 0 is also that of no counter
-- ARGV[2]  the new number
-- ARGV[3]  time to live of a counter that has none, ms; 0: none
--
-- Returns  integer  1 it was the expected one, 0 it was not
-- Replay   once: a second run finds the new number
local was, wrong = integer(KEYS[1])
if not was then
	return wrong
elseif was ~= ARGV[1] then
	return 0
end
put(ARGV[2], ARGV[3])
return 1
