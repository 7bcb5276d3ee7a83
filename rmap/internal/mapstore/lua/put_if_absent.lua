-- put_if_absent.lua: write an entry if there is none.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: unlease.lua
-- Include: write.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; with a time to live, who loads the entry; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
-- ARGV[3]   value
-- ARGV[4]   time to live: ms, or keep for what the entry has; empty: for ever
-- ARGV[5…]  what near caches are told, if they are; see announce.lua
--
-- Returns  text  what is there, and stays
--          nil   it was written
-- Replay   once: a second run finds what the first has written; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local there = redis.call('hget', KEYS[1], ARGV[2])
if not there then
	announce(5)
	write(ARGV[2], ARGV[3], ARGV[4])
	unlease(ARGV[4], 1)
end
return done(there)
