-- put.lua: write entries that go by themselves.
--
-- Include: done.lua
-- Include: write.lua
-- KEYS[1]   map
-- KEYS[2…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   time to live: ms, or keep for what each entry has
-- ARGV[3…]  fields and values by turns
--
-- Returns  integer  how many were written
-- Replay   unsafe: somebody else may have written in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
for i = 3, #ARGV, 2 do
	write(ARGV[i], ARGV[i + 1], ARGV[2])
end
return done((#ARGV - 2) / 2)
