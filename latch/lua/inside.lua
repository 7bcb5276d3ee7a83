-- inside.lua: how many parties are inside of a double barrier.
--
-- KEYS[i]  who is inside, of a generation: zset of parties by the end of their leases, ms of the server's clock
--
-- Returns  array  {ms until the first lease ends, -1 none; of each generation how many are inside whose leases have not ended}
-- Replay   reads: it changes nothing
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local alive = '(' .. string.format('%.0f', now)
local answer = {-1}
for _, key in ipairs(KEYS) do
	answer[#answer + 1] = redis.call('zcount', key, alive, '+inf')
	local ends = redis.call('zrangebyscore', key, alive, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
	local left = ends and math.max(1, math.ceil(ends - now))
	if left and (answer[1] < 0 or left < answer[1]) then
		answer[1] = left
	end
end
return answer
