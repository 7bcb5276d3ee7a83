-- take.lua: remove an entry and return it.
--
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
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
	redis.call('hdel', KEYS[1], ARGV[2])
end
return done(old)
