-- back.lua: put elements back to the end that they were taken from.
--
-- Include: done.lua
-- KEYS[1]   queue
-- KEYS[2]   what remembers the answer
-- ARGV[1]   how long it is remembered, ms
-- ARGV[2]   LPUSH or RPUSH; or ZADD, then what was offered again meanwhile stays as it is
-- ARGV[3…]  elements; or NX, and each behind its score
--
-- Runs     lpush rpush zadd
-- Returns  integer  how many elements there are, or were put back
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
return done(redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3)))
