-- expire_entries.lua: give entries another time to live, or none.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: unlease.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; with a time to live, who loads each of the entries; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   time to live, ms; empty: for ever
-- ARGV[3]   NX, GT or LT, as HPEXPIRE takes them; empty: all
-- ARGV[4]   the last of the fields is this argument
-- ARGV[5…]  fields; what near caches are told, if they are; see announce.lua
--
-- Returns  integer  how many were changed
-- Replay   unsafe: somebody else may have changed them in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local changed, last = {}, tonumber(ARGV[4])
-- Before anything is changed, as this server may not know it.
redis.call('hpexpiretime', KEYS[1], 'FIELDS', 1, ARGV[5])
announce(last + 1)
for i = 5, last do
	local did
	-- An entry that has ended and was not reaped yet would come back.
	if redis.call('hexists', KEYS[1], ARGV[i]) == 0 then
		did = 0
	elseif ARGV[2] == '' then
		did = redis.call('hpersist', KEYS[1], 'FIELDS', 1, ARGV[i])[1]
	elseif ARGV[3] == '' then
		did = redis.call('hpexpire', KEYS[1], ARGV[2], 'FIELDS', 1, ARGV[i])[1]
	else
		did = redis.call('hpexpire', KEYS[1], ARGV[2], ARGV[3], 'FIELDS', 1, ARGV[i])[1]
	end
	if did > 0 then
		changed[#changed + 1] = i - 4
	end
end
unlease(ARGV[2], last - 4, changed)
return done(#changed)
