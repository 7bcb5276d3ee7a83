-- stats.lua: how a queue is.
--
-- Include: queue.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- ARGV[1]    of no use here: nothing
--
-- Returns  array  {messages, delayed, running, behind, dead, clients that wait, ms for which it is paused, -1: for ever, -2: it
--                 is not; the body of the first that is ready, or ""; then names and values of counters}
-- Replay   reads: it changes nothing
if later_queue() then
	return later_queue()
end
local ahead, first = redis.call('zrange', prio, 0, 0), false
for _, id in ipairs(#ahead > 0 and ahead or redis.call('lrange', ready, 0, 99)) do
	first = first or redis.call('hget', body, id) -- that of a message which was removed is not there
end
local out = {
	redis.call('hlen', body), redis.call('zcard', due), redis.call('zcard', lease), redis.call('zcard', order),
	redis.call('zcard', dead), redis.call('zcount', idle, whole(now - 60000), '+inf'), redis.call('pttl', pause),
	first or '',
}
for _, text in ipairs(redis.call('hgetall', meta)) do
	out[#out + 1] = text
end
return out
