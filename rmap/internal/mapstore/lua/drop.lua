-- drop.lua: delete a map, and tell near caches.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2…]  what near caches are told, see announce.lua
--
-- Returns  integer  1 there was one, 0 there was none
-- Replay   unsafe: somebody else may have written in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
announce(2)
local there = redis.call('unlink', KEYS[1])
redis.call('unlink', KEYS[2])
return done(there)
