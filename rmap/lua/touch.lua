-- touch.lua: give an entry another time to live.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
-- ARGV[3]   time to live, ms; empty: for ever
-- ARGV[4…]  what near caches are told, if they are; see announce.lua
--
-- Returns  integer  1 there is such an entry, 0 there is none
-- Replay   unsafe: somebody else may have touched it in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
announce(4)
local did
if ARGV[3] == '' then
	did = redis.call('hpersist', KEYS[1], 'FIELDS', 1, ARGV[2])[1]
else
	did = redis.call('hpexpire', KEYS[1], ARGV[3], 'FIELDS', 1, ARGV[2])[1]
end
return done(did == -2 and 0 or 1)
