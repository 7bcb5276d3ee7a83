-- expire.lua: let all keys of a map go at the same time.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: whole.lua
-- KEYS[i…]  each key of the map; the log of near caches, where they are told; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   how many keys the map has
-- ARGV[3]   in how many ms; @ and a time, ms: then; empty: never
-- ARGV[4…]  what near caches are told, if they are; see announce.lua
--
-- Returns  integer  1 there is such a map, and its time was changed, 0 else
-- Replay   unsafe: somebody else may have changed it in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
announce(4)
return done(ends(tonumber(ARGV[2]), ARGV[3]))
