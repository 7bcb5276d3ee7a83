-- missed.lua: take messages from those that a durable group has missed, to tell its subscriber of them.
--
-- Include: lane.lua
-- KEYS[1]  of no use here: stream {name}
-- KEYS[2]  lane of the request
-- KEYS[3]  hash: durable group → how many messages it has missed
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  group
-- ARGV[4]  how many
--
-- Returns  array  {how many it took: not more than there are}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
local n = tonumber(redis.call('hget', KEYS[3], ARGV[3]) or 0)
answer = {math.min(n, tonumber(ARGV[4]))}
if n > answer[1] then
	redis.call('hincrby', KEYS[3], ARGV[3], -answer[1])
else
	redis.call('hdel', KEYS[3], ARGV[3])
end
remember(0, answer)
return answer
