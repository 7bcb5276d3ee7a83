-- delete.lua: take a queue away. The last id and the last number of a delivery stay, so that none is given again.
--
-- Include: queue.lua
-- Include: wake.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- ARGV[1]    what the channels of those who wait begin with
-- ARGV[2]    publish or spublish
-- ARGV[3]    0: a message that reached nobody proves nothing
-- ARGV[4]    channel on which the ends of messages are told; a "*" says that all have ended
--
-- Returns  integer  1 there was something, 0 there was nothing
-- Replay   unsafe: a second run takes away what was added meanwhile
if later_queue() then
	return later_queue()
end
wake(redis.call('zcard', idle), ARGV[2], ARGV[3], ARGV[1], 'w') -- who waits says so again
local n = redis.call('unlink', body, ready, prio, due, lease, tries, opt, head, order, unique, dead, failure, pause, idle, keeper, deputy, owners, finished, finished_until, progress)
redis.pcall(ARGV[2], ARGV[4], '*')
local stays, names = {id = true, delivery = true, format = true}, {}
for _, name in ipairs(redis.call('hkeys', meta)) do
	if not stays[name] then
		names[#names + 1] = name
	end
end
if #names > 0 then
	redis.call('hdel', meta, unpack(names))
	n = n + 1
end
return n > 0 and 1 or 0
