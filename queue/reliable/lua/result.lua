-- result.lua: what came of messages.
--
-- Include: queue.lua
-- KEYS[1…19] the parts of the queue, see queue.lua
-- ARGV[n…]   ids
--
-- Returns  array  of each: r and its result; w, it is not done yet; d and the last cause, it was buried; n, there is none of the two
-- Replay   safe: it changes nothing
local results = redis.call('hmget', result, unpack(ARGV))
local out = {}
for i = 1, #ARGV do
	if results[i] then
		out[i] = 'r' .. results[i]
	elseif redis.call('hexists', body, ARGV[i]) == 0 then
		out[i] = 'n'
	elseif redis.call('zscore', dead, ARGV[i]) then
		out[i] = 'd' .. (string.match(redis.call('hget', failure, ARGV[i]) or '', '^%d+ (.*)$') or '')
	else
		out[i] = 'w'
	end
end
return out
