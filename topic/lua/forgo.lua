-- forgo.lua: count messages that a durable group has missed: a process had them that does not handle them.
--
-- Include: lane.lua
-- KEYS[1]  stream {name}
-- KEYS[2]  lane of the request
-- KEYS[3]  hash: durable group → how many messages it has missed
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  group
-- ARGV[4]  how many
--
-- Returns  array  {1: they are counted; 0: there is no such group any more}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
answer = {0}
local there = redis.pcall('xpending', KEYS[1], ARGV[3])
if not there.err then
	redis.call('hincrby', KEYS[3], ARGV[3], ARGV[4])
	answer = {1}
elseif not string.find(there.err, 'NOGROUP', 1, true) then
	return there
end
remember(0, answer)
return answer
