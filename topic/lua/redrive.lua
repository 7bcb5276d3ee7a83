-- redrive.lua: have messages that a durable group has put aside come to it again, and to no other.
--
-- Include: done.lua
-- KEYS[1]  stream of what was put aside
-- KEYS[2]  stream of what was redriven, with the same fields; all of it is pending
-- KEYS[3]  what remembers the answer
-- ARGV[1]  how long it is remembered, ms
-- ARGV[2]  group
-- ARGV[3]  consumer
-- ARGV[4]  how many
-- ARGV[5]  up to which ID of what was put aside: '+' at first, which is the newest; else what the call before returned
--
-- Returns  text  how many come again, - if there are more or ., up to which ID the next call goes
-- Replay   safe: the request is known then
-- What is put aside again meanwhile stays: a consumer that fails would keep this up for ever.
local was, answer = known()
if was then
	return answer
end
local till = ARGV[5]
if till == '+' then
	local newest = redis.call('xrevrange', KEYS[1], '+', '-', 'COUNT', 1)[1]
	if not newest then
		return done('0 . ' .. till)
	end
	till = newest[1]
end
local some = redis.call('xrange', KEYS[1], '-', till, 'COUNT', ARGV[4])
for _, dead in ipairs(some) do
	local id = redis.call('xadd', KEYS[2], '*', unpack(dead[2]))
	redis.pcall('xgroup', 'create', KEYS[2], ARGV[2], '$') -- it may be there
	-- It counts as left alone for longer than any lease.
	redis.call('xclaim', KEYS[2], ARGV[2], ARGV[3], 0, id, 'TIME', 1, 'RETRYCOUNT', 0, 'FORCE', 'JUSTID')
	redis.call('xdel', KEYS[1], dead[1])
end
return done(table.concat({#some, #some == tonumber(ARGV[4]) and '-' or '.', till}, ' '))
