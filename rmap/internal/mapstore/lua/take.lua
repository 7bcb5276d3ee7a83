-- take.lua: remove an entry and return it.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
-- ARGV[3…]  what near caches are told, if they are; see announce.lua
--
-- Returns  text  what was there
--          nil   nothing was
-- Replay   unsafe: a second run finds nothing; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local old = redis.call('hget', KEYS[1], ARGV[2])
if old then
	announce(3)
	redis.call('hdel', KEYS[1], ARGV[2])
end
return done(old)
