-- replay.lua: have a durable group go on behind a message of the topic, given to it or not; and make it if there is none.
--
-- Include: lane.lua
-- Include: groups.lua
-- KEYS[1]  stream {name}
-- KEYS[2]  lane of the request
-- KEYS[3]  zset {name}:timeout: group → until when it is kept, ms
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  group
-- ARGV[4]  id behind which it goes on
-- ARGV[5]  until when it is kept
--
-- Returns  array  {1: the topic has all that was ever published behind that; 0: it may have dropped some}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
redis.call('zcard', KEYS[3]) -- of another type? Then nothing is written
local made = redis.pcall('xgroup', 'create', KEYS[1], ARGV[3], ARGV[4], 'MKSTREAM')
if type(made) == 'table' and made.err then
	if not string.find(made.err, 'BUSYGROUP', 1, true) then
		return made
	end
	redis.call('xgroup', 'setid', KEYS[1], ARGV[3], ARGV[4])
end
redis.call('zadd', KEYS[3], ARGV[5], ARGV[3])
local first = redis.call('xrange', KEYS[1], '-', '+', 'COUNT', 1)[1]
local all = first and not before(ARGV[4], first[1])
if not all then
	local info = redis.call('xinfo', 'stream', KEYS[1])
	all = field(info, 'entries-added') == redis.call('xlen', KEYS[1])
end
answer = {all and 1 or 0}
remember(0, answer)
return answer
