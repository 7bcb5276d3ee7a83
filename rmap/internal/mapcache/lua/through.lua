-- through.lua: change an entry of a cache as its store was, if the caller has the lock of the entry still: a request that
-- comes late changes nothing.
--
-- Include: store.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6]   lease of who loads the entry
-- KEYS[7]   lock of the entry
-- KEYS[8…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   owner of the lock
-- ARGV[5]   key
-- ARGV[6]   entry as the hash has it; empty: it is removed
-- ARGV[7]   when it ends, ms; empty: never; =: when the one that is there does
-- ARGV[8]   when it has rested for too long, ms; empty: never; =: by the idle time of the one that is there
--
-- Returns  array  {what the bound needs, see store.lua; 1 it was done, 0 the lock is not the caller's any more; how many
--                 entries it has evicted}
-- Replay   once: the caller may have changed it again under the same lock; with an id it is safe
local was, answer = known()
if was then
	return {0, answer, 0}
end
if redis.call('hexists', KEYS[7], ARGV[4]) == 0 then
	return {0, done(0), 0}
end
local old, rest = live(ARGV[5])
local left = 0
if ARGV[6] ~= '' then
	left = put(ARGV[5], ARGV[6], ARGV[7], ARGV[8], old, rest)
else
	changing()
	forget({ARGV[5]})
	if old and told then
		tell('removed', ARGV[5], old)
	end
end
redis.call('del', KEYS[6])
return {left, done(1), evicted}
