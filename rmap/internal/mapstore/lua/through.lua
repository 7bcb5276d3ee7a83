-- through.lua: change an entry of a map as its store was, if the caller has the lock of the entry still: a request that
-- comes late changes nothing.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: unlease.lua
-- Include: write.lua
-- KEYS[1]   map
-- KEYS[2]   log of near caches
-- KEYS[3]   lock of the entry
-- KEYS[4…]  who loads the entry; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   owner of the lock
-- ARGV[3]   field
-- ARGV[4]   = and the value; empty: it is removed
-- ARGV[5]   time to live: ms, or keep for what the entry has; empty: for ever
-- ARGV[6…]  what near caches are told, if they are; see announce.lua
--
-- Returns  integer  1 it was done; 0 the lock is not the caller's any more
-- Replay   once: the caller may have changed it again under the same lock; with an id it is safe
local was, answer = known()
if was then
	return answer
end
if redis.call('hexists', KEYS[3], ARGV[2]) == 0 then
	return done(0)
end
announce(6)
if ARGV[4] == '' then
	redis.call('hdel', KEYS[1], ARGV[3])
else
	write(ARGV[3], string.sub(ARGV[4], 2), ARGV[5])
end
unlease(ARGV[4] == '' and 'removed' or ARGV[5], 1) -- a load is older than the removal
return done(1)
