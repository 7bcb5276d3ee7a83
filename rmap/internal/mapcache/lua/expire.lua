-- expire.lua: let the whole cache go by itself.
--
-- Include: announce.lua
-- Include: done.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  accesses
-- KEYS[5]  options
-- KEYS[6…]  what remembers the answer, of a request with an id
-- ARGV[1]  how long it is remembered, ms; 0 without an id
-- ARGV[2]  in how long, ms; @ and a time, ms: then
-- ARGV[3…]  what near caches are told, if they are; see announce.lua
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
announce(3)
-- As Redisson: something that never ends keeps keys there that may come later. An entry of that name keeps its time.
redis.call('zadd', KEYS[2], 'NX', '92233720368547758', 'redisson__expiretag')
redis.call('zadd', KEYS[3], 'NX', '92233720368547758', 'redisson__expiretag')
local most, bytes = unpack(redis.call('hmget', KEYS[5], 'max-size', 'rueidisson-max-bytes'))
if (tonumber(most or 0) or 0) >= 1 or (tonumber(bytes or 0) or 0) >= 1 then
	redis.call('zadd', KEYS[4], 'NX', '92233720368547758', 'redisson__expiretag')
end
for i = 1, 5 do
	if string.sub(ARGV[2], 1, 1) == '@' then
		redis.call('pexpireat', KEYS[i], string.sub(ARGV[2], 2))
	else
		redis.call('pexpire', KEYS[i], ARGV[2])
	end
end
return done(1)
