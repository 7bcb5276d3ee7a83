-- expire_whole.lua: let the index and the ends of keys go at the same time.
--
-- Include: done.lua
-- Include: key.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[3…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   in how many ms; empty: never
--
-- Returns  integer  1 there is such a multimap, and its time was changed, 0 else
-- Replay   unsafe: somebody else may have changed it in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
return done(math.max(expire(KEYS[1], ARGV[2]), expire(KEYS[2], ARGV[2])))
