-- result.lua: what came of messages.
--
-- Include: queue.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  where the result of each is kept
-- ARGV[n…]   ids
--
-- Returns  array  of each: r and its result; b and its result, a handler of the dead gave it to a message whose end somebody
--                 awaits; w, it is not done yet; d and the last cause, it was buried; n, there is neither a message nor a
--                 result; l, the answer is long enough, ask again; a, c, e, x, and d without a cause: how a message has ended that
--                 had no result, and whose end somebody awaits, see attest.lua
-- Replay   reads: it changes nothing
if later_queue() then
	return later_queue()
end
local room, out = 1048576, {}
for i = 1, #ARGV do
	local size = redis.call('strlen', KEYS[22 + i])
	local kept = (size <= room or i == 1) and redis.call('get', KEYS[22 + i])
	if kept then
		room = room - size
		out[i] = (redis.call('hget', finished, '=' .. ARGV[i]) == 'd' and 'b' or 'r') .. kept
	elseif size > 0 then
		out[i], room = 'l', 0
	elseif redis.call('hexists', body, ARGV[i]) == 0 then
		out[i] = redis.call('hget', finished, '=' .. ARGV[i]) or 'n'
	elseif redis.call('zscore', dead, ARGV[i]) or redis.call('hexists', tries, ARGV[i] .. '#') == 1 then -- or with a handler of the dead
		out[i] = 'd' .. (string.match(redis.call('hget', failure, ARGV[i]) or '', '^%d+ (.*)$') or '')
	else
		out[i] = 'w'
	end
end
return out
