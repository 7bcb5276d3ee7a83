-- expire.lua: let the whole cache go by itself.
--
-- Include: done.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  accesses
-- KEYS[5]  options
-- KEYS[6…]  what remembers the answer, of a request with an id
-- ARGV[1]  how long it is remembered, ms; 0 without an id
-- ARGV[2]  in how long, ms
--
-- Returns  integer  1; 0: there is no such cache
-- Replay   safe: the second run sets the same
local was, answer = known()
if was then
	return answer
end
if redis.call('exists', KEYS[1]) == 0 then
	return done(0)
end
-- As Redisson: something that never ends keeps keys there that may come later.
redis.call('zadd', KEYS[2], '92233720368547758', 'redisson__expiretag')
redis.call('zadd', KEYS[3], '92233720368547758', 'redisson__expiretag')
local most = tonumber(redis.call('hget', KEYS[5], 'max-size') or 0)
if most and most >= 1 then
	redis.call('zadd', KEYS[4], '92233720368547758', 'redisson__expiretag')
end
for i = 1, 5 do
	redis.call('pexpire', KEYS[i], ARGV[2])
end
return done(1)
