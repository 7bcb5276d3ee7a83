-- hold.lua: say that a process is at work on messages of a durable group, and find out which of them the topic has dropped.
--
-- A message that was dropped stays pending until the process has heard of it and asks once more: if the answer is lost,
-- or the process dies before, the message is found again, here or by claim.lua.
--
-- Include: groups.lua
-- KEYS[1]  stream {name}, or that of what was redriven
-- ARGV[1]  group
-- ARGV[2]  consumer
-- ARGV[n…]  ids of the messages; behind '!' one that was found to be dropped
--
-- Returns  array  for each message 1: it is held; 0: the topic has dropped it; 2: it is not pending any more; 3: it was
--                 deleted by XDEL, and is not pending from now on; behind '!' 1: it is not pending from now on; 0: it was
--                 not before
-- Replay   safe: a second run changes nothing more; it says the same, unless messages were deleted by XDEL, and 0 behind '!'
local first
local function dropped(id)
	first = first or redis.call('xrange', KEYS[1], '-', '+', 'COUNT', 1)
	return not first[1] or before(id, first[1][1])
end

local said = {}
for i = 3, #ARGV do
	local known, id = string.match(ARGV[i], '^(!?)(.*)$')
	local pending = redis.pcall('xpending', KEYS[1], ARGV[1], id, id, 1)
	if pending.err then
		return pending
	end
	local answer = 2
	if known == '!' then
		answer = redis.call('xack', KEYS[1], ARGV[1], id)
	elseif pending[1] and dropped(id) then
		answer = 0
	elseif pending[1] then
		answer = redis.call('xclaim', KEYS[1], ARGV[1], ARGV[2], 0, id, 'JUSTID')[1] and 1 or 3
	end
	said[#said + 1] = answer
end
return said
