-- take.lua: remove an entry and return it. One that has expired is left to the sweeper.
--
-- Include: bound.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6]   lease of who loads the entry
-- KEYS[7…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   key
--
-- Returns  string  the living entry as the hash had it
--          nil     there was none
-- Replay   unsafe: a second run finds nothing; with an id it changes nothing
local was, answer = known()
if was then
	return answer
end
local old = live(ARGV[4])
if old then
	changing()
end
redis.call('del', KEYS[6])
if not old then
	return done(false)
end
forget({ARGV[4]})
if told then
	tell('removed', ARGV[4], old)
end
return done(old)
