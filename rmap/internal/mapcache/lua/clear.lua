-- clear.lua: drop keys.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[1…]  what to drop; then what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   how many to drop
-- ARGV[3…]  what near caches are told, if they are; see announce.lua
--
-- Returns  integer  how many there were
-- Replay   unsafe: a second run drops what others wrote in between; with an id it changes nothing
local count = tonumber(ARGV[2])
local was, answer = known()
if was then
	return answer
end
announce(3)
return done(redis.call('unlink', unpack(KEYS, 1, count)))
