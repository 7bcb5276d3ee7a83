-- get.lua: the values of keys.
--
-- Include: key.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[i…]  values of each key
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   list or set
-- ARGV[3…]  keys
--
-- Returns  array  for each key: its values, in an array; none if it is not there or has ended
-- Replay   reads: it changes nothing
local answer = {}
for i = 3, #ARGV do
	answer[i - 2] = lives(ARGV[i], ARGV[1], KEYS[i]) and all(ARGV[2], KEYS[i]) or {}
end
return answer
