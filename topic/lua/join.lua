-- join.lua: make the group of a subscriber to a reliable topic.
--
-- Include: lane.lua
-- KEYS[1]  stream {name}
-- KEYS[2]  lane of the request
-- KEYS[3]  zset {name}:timeout: group → until when it is kept, ms
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  group
-- ARGV[4]  until when it is kept
--
-- Returns  array  {1: it was made, and reads all that there is; 0: it was there}; {-1}: an older request that comes late
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
redis.call('zcard', KEYS[3]) -- of another type? Then nothing is written
local made = redis.pcall('xgroup', 'create', KEYS[1], ARGV[3], '0', 'MKSTREAM')
answer = {1}
if type(made) == 'table' and made.err then
	if not string.find(made.err, 'BUSYGROUP', 1, true) then
		return made
	end
	answer = {0}
end
redis.call('zadd', KEYS[3], ARGV[4], ARGV[3])
remember(0, answer)
return answer
