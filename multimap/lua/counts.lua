-- counts.lua: how many values keys have.
--
-- Include: key.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[i…]  values of each key
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   list or set
-- ARGV[3…]  keys
--
-- Returns  array  for each key: how many; 0 if it is not there or has ended; -1 if it is there and has none
-- Replay   reads: it changes nothing
local answer = {}
for i = 3, #ARGV do
	local n = 0
	if lives(ARGV[i], ARGV[1], KEYS[i]) then
		n = count(ARGV[2], KEYS[i])
		if n == 0 then
			n = -1
		end
	end
	answer[i - 2] = n
end
return answer
