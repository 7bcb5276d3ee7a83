-- replace.lua: write an entry if there is a living one.
--
-- Include: store.lua
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
-- ARGV[5]   entry as the hash has it
-- ARGV[6]   when it ends, ms; empty: when the one that was there does; 0: never
-- ARGV[7]   when it has rested for too long, ms; empty: by the idle time of the one that was there
--
-- Returns  array  {0; 1 replaced, 0 not there; 0}
-- Replay   once: a second run overwrites what others wrote in between; with an id it changes nothing
local was, answer = known()
if was then
	return {0, answer, 0}
end
local old, rest = live(ARGV[4])
if not old then
	return {0, done(0), 0}
end
local left = replace(ARGV[4], ARGV[5], ARGV[6], ARGV[7], old, rest)
redis.call('del', KEYS[6])
return {left, done(1), 0}
