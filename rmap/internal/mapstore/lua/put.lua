-- put.lua: write entries that go by themselves, or that near caches are told of.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: unlease.lua
-- Include: write.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; with a time to live, who loads each entry; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   time to live: ms, or keep for what each entry has; empty: for ever
-- ARGV[3]   the last of the values is this argument
-- ARGV[4…]  fields and values by turns; what near caches are told, if they are, see announce.lua
--
-- Returns  integer  how many were written
-- Replay   once: somebody else may have written in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local last = tonumber(ARGV[3])
announce(last + 1)
for i = 4, last, 2 do
	write(ARGV[i], ARGV[i + 1], ARGV[2])
end
unlease(ARGV[2], (last - 3) / 2)
return done((last - 3) / 2)
