-- leave.lua: take the group of a subscriber away, and what only it had use for.
--
-- Include: lane.lua
-- Include: groups.lua
-- KEYS[1]  stream {name}
-- KEYS[2]  lane of the request
-- KEYS[3]  zset {name}:timeout: group → until when it is kept, ms
-- KEYS[4]  hash: how many groups have use for the first message, which are counted anew
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  group
--
-- Returns  array  {1: it was there; 0: it was not}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
redis.call('zrem', KEYS[3], ARGV[3])
redis.call('del', KEYS[4])
if redis.call('exists', KEYS[1]) == 0 then
	answer = {0}
	remember(0, answer)
	return answer
end
answer = {redis.call('xgroup', 'destroy', KEYS[1], ARGV[3])}
trim()
remember(0, answer)
if redis.call('xlen', KEYS[1]) == 0 and #redis.call('xinfo', 'groups', KEYS[1]) == 0 then
	redis.call('del', KEYS[1])
end
return answer
