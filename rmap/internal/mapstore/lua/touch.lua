-- touch.lua: give an entry another time to live.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: unlease.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; with a time to live, who loads the entry; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
-- ARGV[3]   time to live, ms; empty: for ever; =: as it is
-- ARGV[4…]  what near caches are told, if they are; see announce.lua
--
-- Returns  integer  1 there is such an entry, 0 there is none
-- Replay   once: somebody else may have touched it in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
-- An entry that has ended and was not reaped yet would come back. An older server says that it does not know the command.
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
	redis.call('hpexpiretime', KEYS[1], 'FIELDS', 1, ARGV[2])
	return done(0)
elseif ARGV[3] == '=' then
	return done(1)
end
announce(4)
if ARGV[3] == '' then
	redis.call('hpersist', KEYS[1], 'FIELDS', 1, ARGV[2])
else
	redis.call('hpexpire', KEYS[1], ARGV[3], 'FIELDS', 1, ARGV[2])
	unlease(ARGV[3], 1)
end
return done(1)
