-- take.lua: delete a counter, and tell its number. What is no integer stays.
--
-- Include: integer.lua
-- KEYS[1]  counter: decimal
--
-- Returns  text  the number, 0 if there was none
-- Replay   unsafe: a second run finds nothing
local was, there = integer(KEYS[1])
if not was then
	return there
end
if there then
	redis.call('del', KEYS[1])
end
return was
