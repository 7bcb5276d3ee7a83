-- touch.lua: give an entry other times, and count it as used.
--
-- Include: bound.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   key
-- ARGV[5]   when it ends, ms; empty: never; =: as it is
-- ARGV[6]   its idle time, as it stands before the value; =: as it is
-- ARGV[7]   when it has rested for too long, ms; empty: never; =: by the idle time that it has
--
-- Returns  integer  1 if there is a living entry, else 0
-- Replay   once: a second run overwrites what others set in between; with an id it changes nothing
local was, answer = known()
if was then
	return answer
end
local packed, rest = live(ARGV[4])
if not packed then
	return done(0)
end
changing()
if ARGV[5] == '' then
	redis.call('zrem', KEYS[2], ARGV[4])
elseif ARGV[5] ~= '=' then
	redis.call('zadd', KEYS[2], ARGV[5], ARGV[4])
end
if ARGV[7] == '=' then
	rested(ARGV[4], rest)
elseif ARGV[7] == '' then
	redis.call('zrem', KEYS[3], ARGV[4])
else
	redis.call('zadd', KEYS[3], ARGV[7], ARGV[4])
end
if ARGV[6] ~= '=' then
	redis.call('hset', KEYS[1], ARGV[4], ARGV[6] .. string.sub(packed, 9))
end
used(ARGV[4])
return done(1)
