-- put_told.lua: write entries that stay, and tell near caches. It is put.lua for the writes that there are most of, and has
-- no functions: making them costs the server more than the rest.
--
-- KEYS[1]   map
-- KEYS[2]   the log of near caches
-- ARGV[1]   command that publishes
-- ARGV[2]   channel
-- ARGV[3]   message; it is sent first, see announce.lua
-- ARGV[4]   when it is, for the log, ms
-- ARGV[5…]  field, value, and what the log is told of it, by turns
--
-- Returns  nil
-- Replay   once: somebody else may have written in between
local logged = redis.call('exists', KEYS[2]) == 1
redis.call(ARGV[1], ARGV[2], ARGV[3])
for i = 5, #ARGV, 3 do
	if logged then
		redis.call('zadd', KEYS[2], ARGV[4], ARGV[i + 2])
	end
	redis.call('hset', KEYS[1], ARGV[i], ARGV[i + 1])
end
