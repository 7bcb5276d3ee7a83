-- redrive.lua: have messages that a durable group has put aside come to it again, and to no other.
--
-- KEYS[1]  stream of what was put aside
-- KEYS[2]  stream of what was redriven, with the same fields; all of it is pending
-- ARGV[1]  group
-- ARGV[2]  consumer
-- ARGV[3]  how many
-- ARGV[4]  up to which ID of what was put aside: '+' at first, which is the newest; else what the call before returned
--
-- Returns  array  {how many come again, 1: there are more, up to which ID the next call goes}
-- Replay   safe: what comes again is not put aside any more
-- What is put aside again meanwhile stays: a consumer that fails would keep this up for ever.
local till = ARGV[4]
if till == '+' then
	local newest = redis.call('xrevrange', KEYS[1], '+', '-', 'COUNT', 1)[1]
	if not newest then
		return {0, 0, till}
	end
	till = newest[1]
end
local some = redis.call('xrange', KEYS[1], '-', till, 'COUNT', ARGV[3])
for _, dead in ipairs(some) do
	local id = redis.call('xadd', KEYS[2], '*', unpack(dead[2]))
	redis.pcall('xgroup', 'create', KEYS[2], ARGV[1], '$') -- it may be there
	-- It counts as left alone for longer than any lease.
	redis.call('xclaim', KEYS[2], ARGV[1], ARGV[2], 0, id, 'TIME', 1, 'RETRYCOUNT', 0, 'FORCE', 'JUSTID')
	redis.call('xdel', KEYS[1], dead[1])
end
return {#some, #some == tonumber(ARGV[3]) and 1 or 0, till}
