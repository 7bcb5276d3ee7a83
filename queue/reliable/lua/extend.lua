-- extend.lua: lengthen the leases of messages.
--
-- KEYS[i…]  zset of each: the leases of its queue
-- ARGV[j…]  of each: its member of the leases, ms
--
-- Returns  array  of each: 1 it is leased for at least so long, 0 that delivery has it no more
-- Replay   safe: a lease never gets shorter
redis.call('zrem', KEYS[1], '') -- which a full server does not refuse, so that it lets those behind it pass
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local answer = {}
for i = 1, #KEYS do
	local member, ends = ARGV[2 * i - 1], now + ARGV[2 * i]
	local is = redis.call('zscore', KEYS[i], member)
	if is and tonumber(is) < ends then
		redis.call('zadd', KEYS[i], 'XX', string.format('%.0f', ends), member)
	end
	answer[i] = is and 1 or 0
end
return answer
