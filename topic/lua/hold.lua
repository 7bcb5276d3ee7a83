-- hold.lua: say that a process is at work on messages of a durable group, and find out which of them it has no more.
--
-- KEYS[1]  stream {name}, or that of what was redriven
-- ARGV[1]  group
-- ARGV[2]  consumer
-- ARGV[n…]  ids of the messages
--
-- Returns  array  for each message 1: it is held; 0: the topic has dropped it; 2: another process has acknowledged it; 3: so it is, and the topic has it no more
-- Replay   safe: of a message that was dropped the second run says 3
local said = {}
for i = 3, #ARGV do
	local pending = redis.pcall('xpending', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
	if pending.err then
		return pending
	end
	if pending[1] then
		local got = redis.call('xclaim', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
		if not got[1] then
			redis.call('xack', KEYS[1], ARGV[1], ARGV[i]) -- no effect since Redis 7: the claim has done it
		end
		said[#said + 1] = got[1] and 1 or 0
	else
		said[#said + 1] = redis.call('xrange', KEYS[1], ARGV[i], ARGV[i])[1] and 2 or 3
	end
end
return said
