-- float_compare.lua: another number in the place of a float's, if that equals the expected one, however it is written.
--
-- Include: number.lua
-- Include: put.lua
-- KEYS[1]  float: decimal
-- ARGV[1]  the expected number; 0 is also that of no float
-- ARGV[2]  the new number
--
-- Returns  integer  1 it was the expected one, 0 it was not
-- Replay   once: a second run finds the new number
local was, text = number(KEYS[1])
if not was then
	return text
elseif was ~= value(ARGV[1]) then
	return 0
end
put(ARGV[2], '0')
return 1
