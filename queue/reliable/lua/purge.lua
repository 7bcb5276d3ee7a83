-- purge.lua: take dead messages out.
--
-- Include: queue.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[n…]   ids; none: a thousand of all
--
-- Returns  integer  how many were taken out
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end
local ids = {}
for i = 2, #ARGV do
	if redis.call('zscore', dead, ARGV[i]) then
		ids[#ids + 1] = ARGV[i]
	end
end
if #ARGV == 1 then
	ids = redis.call('zrange', dead, 0, 999)
end
if #ids > 0 then
	redis.call('zrem', dead, unpack(ids))
	redis.call('hdel', body, unpack(ids))
	redis.call('hdel', failure, unpack(ids))
	redis.call('hdel', opt, unpack(ids))
	redis.call('hdel', progress, unpack(ids))
end
return done(#ids)
