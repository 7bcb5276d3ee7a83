-- finish.lua: drop what is left of a multimap that has no keys.
--
-- Include: done.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[3…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
--
-- Returns  integer  1 there was something, 0 else
-- Replay   safe: what is gone is gone
local was, answer = known()
if was then
	return answer
end
if redis.call('exists', KEYS[1]) == 1 then
	return done(0)
end
return done(redis.call('unlink', KEYS[2]))
