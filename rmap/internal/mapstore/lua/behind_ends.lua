-- behind_ends.lua: which changes that are queued for a store are the oldest and the newest one.
--
-- KEYS[1]  stream of changes
--
-- Returns  array  {id of the oldest, id of the newest, how many there are}; of an empty one without elements
-- Replay   reads: it changes nothing
local first = redis.call('xrange', KEYS[1], '-', '+', 'COUNT', 1)[1]
if not first then
	return {}
end
local last = redis.call('xrevrange', KEYS[1], '+', '-', 'COUNT', 1)[1]
return {first[1], last[1], redis.call('xlen', KEYS[1])}
