-- init.lua: make a filter, if there is none. A bitmap without a config is deleted: its bits are those of an earlier filter.
--
-- KEYS[1]  bitmap
-- KEYS[2]  config
-- ARGV[1]  size: bits of the filter
-- ARGV[2]  hashIterations: bits of each value
-- ARGV[3]  expectedInsertions
-- ARGV[4]  falseProbability
-- ARGV[5]  the last bit
--
-- Returns  array  {} it was made; {size, hashIterations, expectedInsertions, falseProbability} of the filter that is there
-- Replay   safe: the second run finds what the first has made
if redis.call('exists', KEYS[2]) == 1 then
	local there = redis.call('hmget', KEYS[2], 'size', 'hashIterations', 'expectedInsertions', 'falseProbability')
	for i = 1, 4 do
		there[i] = there[i] or ''
	end
	return there
end
-- What the server refuses it refuses here, before anything has changed.
local old = redis.call('exists', KEYS[1])
redis.call('setbit', KEYS[1], old == 1 and 0 or ARGV[5], 0)
if old == 1 then
	redis.call('unlink', KEYS[1])
	redis.call('setbit', KEYS[1], ARGV[5], 0)
end
redis.call('hset', KEYS[2], 'size', ARGV[1], 'hashIterations', ARGV[2], 'expectedInsertions', ARGV[3], 'falseProbability', ARGV[4])
return {}
