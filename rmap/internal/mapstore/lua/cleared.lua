-- cleared.lua: say that near caches of this process have dropped all, if somebody waits for that still.
--
-- KEYS[1]  semaphore of who waits
-- ARGV[1]  the command that publishes
-- ARGV[2]  channel of the semaphore
--
-- Returns  integer  1 said, 0 nobody waits
-- Replay   unsafe: a second run says it twice
if redis.call('exists', KEYS[1]) == 0 then
	return 0
end
redis.call(ARGV[1], ARGV[2], redis.call('incrby', KEYS[1], 1))
return 1
