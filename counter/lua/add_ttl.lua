-- add_ttl.lua: add to a counter, which gets a time to live if it has none.
--
-- KEYS[1]  counter: decimal
-- ARGV[1]  what is added
-- ARGV[2]  time to live, ms
--
-- Returns  text  the sum
-- Replay   once: a second run adds again
redis.call('incrby', KEYS[1], ARGV[1])
if redis.call('pttl', KEYS[1]) == -1 then
	redis.call('pexpire', KEYS[1], ARGV[2])
end
return redis.call('get', KEYS[1]) -- what INCRBY answers is a double here
