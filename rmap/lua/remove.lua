-- remove.lua: remove entries that near caches are told of.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the last of the fields is this argument
-- ARGV[3…]  fields; what near caches are told, see announce.lua
--
-- Returns  integer  how many there were
-- Replay   unsafe: a second run finds nothing; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local last = tonumber(ARGV[2])
announce(last + 1)
return done(redis.call('hdel', KEYS[1], unpack(ARGV, 3, last)))
