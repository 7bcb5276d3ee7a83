-- bound.lua: raise a counter to a number, or lower it to one.
--
-- Include: integer.lua
-- Include: less.lua
-- Include: put.lua
-- KEYS[1]  counter: decimal
-- ARGV[1]  raise or lower
-- ARGV[2]  the number
-- ARGV[3]  time to live of a counter that has none, ms; 0: none
--
-- Returns  integer  1 it has the number now, 0 it was not below, or above, it
-- Replay   once: a second run changes what was set after the first
local was, wrong = integer(KEYS[1])
if not was then
	return wrong
end
local changes
if ARGV[1] == 'raise' then
	changes = less(was, ARGV[2])
else
	changes = less(ARGV[2], was)
end
if not changes then
	return 0
end
put(ARGV[2], ARGV[3])
return 1
