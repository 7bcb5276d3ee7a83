-- float_swap.lua: another number in the place of a float's. What is no number stays.
--
-- Include: number.lua
-- KEYS[1]  float: decimal
-- ARGV[1]  the number
--
-- Returns  text  the number before, 0 if there was none
-- Replay   once: a second run finds the number of the first
local was, text = number(KEYS[1])
if not was then
	return text
end
redis.call('set', KEYS[1], ARGV[1])
return text
