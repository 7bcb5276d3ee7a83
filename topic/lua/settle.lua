-- settle.lua: acknowledge messages, take groups away whose subscribers have died, and drop what no group has use for.
--
-- Include: groups.lua
-- KEYS[1]  stream {name}
-- KEYS[2]  zset {name}:timeout: group → until when it is kept, ms
-- ARGV[1]  group
-- ARGV[2]  now, ms
-- ARGV[n…]  ids of the messages
--
-- Returns  integer  how many were acknowledged
-- Replay   safe: what was acknowledged is so, and what was dropped is gone
if redis.call('exists', KEYS[1]) == 0 then
	return 0
end
local n = 0
for i = 3, #ARGV do
	n = n + redis.call('xack', KEYS[1], ARGV[1], ARGV[i])
end
for _, dead in ipairs(redis.call('zrangebyscore', KEYS[2], '-inf', '(' .. ARGV[2], 'LIMIT', 0, 100)) do
	if dead ~= ARGV[1] then -- whoever acknowledges lives, also if its clock has jumped
		redis.call('xgroup', 'destroy', KEYS[1], dead)
		redis.call('zrem', KEYS[2], dead)
	end
end
trim()
return n
