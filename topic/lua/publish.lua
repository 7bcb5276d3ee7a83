-- publish.lua: append messages to the stream of a reliable topic.
--
-- Include: lane.lua
-- KEYS[1]  stream {name}: field m = the message
-- KEYS[2]  lane of the request
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  how many messages the stream keeps; 0: all that a group has use for
-- ARGV[n…]  the messages
--
-- Returns  array  {how many groups get them}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
for i = 4, #ARGV do
	if ARGV[3] == '0' then
		redis.call('xadd', KEYS[1], '*', 'm', ARGV[i])
	else
		redis.call('xadd', KEYS[1], 'MAXLEN', '=', ARGV[3], '*', 'm', ARGV[i])
	end
end
answer = {#redis.call('xinfo', 'groups', KEYS[1])}
remember(#ARGV - 3, answer)
return answer
