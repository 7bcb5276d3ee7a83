-- expire.lua: let all keys of a map go at the same time.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[i…]  each key of the map; the log of near caches, where they are told; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   how many keys the map has
-- ARGV[3]   in how many ms; empty: never
-- ARGV[4…]  what near caches are told, if they are; see announce.lua
--
-- Returns  integer  1 there is such a map, and its time was changed, 0 else
-- Replay   unsafe: somebody else may have changed it in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
announce(4)
local changed = 0
for i = 1, tonumber(ARGV[2]) do
	local did
	if ARGV[3] == '' then
		did = redis.call('persist', KEYS[i])
	else
		did = redis.call('pexpire', KEYS[i], ARGV[3])
	end
	changed = math.max(changed, did)
end
return done(changed)
