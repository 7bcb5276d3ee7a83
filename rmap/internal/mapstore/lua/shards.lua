-- shards.lua: say how many shards a map has, unless that was said before. Who adds to a map that was to go does not
-- leave that to go without the entries.
--
-- KEYS[1]  what says it
-- ARGV[1]  what is to be said
--
-- Returns  text  what is said
-- Replay   safe: what was said first stays
local said = redis.call('get', KEYS[1])
if said then
	redis.call('persist', KEYS[1])
	return said
end
redis.call('set', KEYS[1], ARGV[1])
return ARGV[1]
