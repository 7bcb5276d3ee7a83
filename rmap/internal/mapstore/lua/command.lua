-- command.lua: one command on a map under a request id.
--
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  what remembers the answer
-- ARGV[1]   how long it is remembered, ms
-- ARGV[2]   the command
-- ARGV[3…]  what it takes behind the key
--
-- Runs     hset hdel
-- Returns  what the command returns, an integer or a text
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
return done(redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3)))
