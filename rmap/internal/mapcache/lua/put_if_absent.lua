-- put_if_absent.lua: write an entry unless there is a living one, which is read instead.
--
-- Include: store.lua
-- Include: seen.lua
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
-- ARGV[6]   when it ends, ms; empty or =: never
-- ARGV[7]   when it has rested for too long, ms; empty: never
--
-- Returns  array  {what the bound needs, see store.lua; the living entry that was there, or nil: written;
--                 how many entries it has evicted}
-- Replay   once: a second run finds what the first has written; with an id it changes nothing
local was, answer = known()
if was then
	return {0, answer, 0}
end
local there, rest = live(ARGV[4])
if there then
	seen(ARGV[4], rest)
	return {0, done(there), 0}
end
local left = put(ARGV[4], ARGV[5], ARGV[6], ARGV[7])
redis.call('del', KEYS[6])
return {left, done(false), evicted}
