-- swap.lua: another number in the place of a counter's. What is no integer stays.
--
-- Include: integer.lua
-- KEYS[1]  counter: decimal
-- ARGV[1]  the number
-- ARGV[2]  time to live, ms; 0: none
--
-- Returns  text  the number before, 0 if there was none
-- Replay   once: a second run finds the number of the first
local was, wrong = integer(KEYS[1])
if not was then
	return wrong
end
if ARGV[2] == '0' then
	redis.call('set', KEYS[1], ARGV[1])
else
	redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return was
