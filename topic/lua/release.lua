-- release.lua: give messages of a durable group back, as if nobody had been at work on them for a day.
--
-- KEYS[1]  stream {name}, or that of what was redriven
-- KEYS[2]  hash: durable group → how many messages it has missed
-- ARGV[1]  group
-- ARGV[2]  consumer
-- ARGV[n…]  of each message its id, how often it was delivered, and how often it counts as delivered then
--
-- Returns  integer  how many were dropped meanwhile, and are counted as missed
-- Replay   safe: what was counted is no longer pending; what was delivered again meanwhile is left alone
local gone = 0
for i = 3, #ARGV, 3 do
	local pending = redis.pcall('xpending', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
	if pending.err then
		-- A stream of what was redriven goes with its last message.
		return string.find(pending.err, 'NOGROUP', 1, true) and 0 or pending
	end
	local of = pending[1]
	if of and of[4] == tonumber(ARGV[i + 1]) then
		local got = redis.call('xclaim', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'IDLE', 86400000, 'RETRYCOUNT', ARGV[i + 2], 'JUSTID')
		if not got[1] then
			redis.call('xack', KEYS[1], ARGV[1], ARGV[i]) -- no effect since Redis 7: the claim has done it
			gone = gone + 1
		end
	end
end
if gone > 0 then
	redis.call('hincrby', KEYS[2], ARGV[1], gone)
end
return gone
