-- remove.lua: remove entries that near caches are told of, or that may have ended: HDEL counts those which were not reaped
-- yet.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the last of the fields is this argument
-- ARGV[3…]  fields; what near caches are told, if they are; see announce.lua
--
-- Returns  integer  how many there were
-- Replay   once: a second run finds nothing; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local last = tonumber(ARGV[2])
announce(last + 1)
local n, seen = 0, {}
for i = 3, last do
	if not seen[ARGV[i]] then
		n = n + redis.call('hexists', KEYS[1], ARGV[i])
		seen[ARGV[i]] = true
	end
end
redis.call('hdel', KEYS[1], unpack(ARGV, 3, last))
return done(n)
