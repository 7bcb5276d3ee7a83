-- stream_redrive.lua: have entries that were put aside come to their group again.
--
-- Include: done.lua
-- KEYS[1]  stream
-- KEYS[2]  stream of what was put aside
-- KEYS[3]  what remembers the answer
-- ARGV[1]  how long it is remembered, ms
-- ARGV[2]  group
-- ARGV[3]  from which ID of what was put aside on, or '(' and the one before
-- ARGV[4]  how many to look at
-- ARGV[5]  consumer that they are with until one takes them over
-- ARGV[6]  channel of what was given back
-- ARGV[7]  PUBLISH, or SPUBLISH
-- ARGV[8]  up to which ID of what was put aside: '+' at first, which is the newest; else what the call before returned
--
-- Returns  text  how many come again, where the next call goes on, or ., up to which ID it goes
-- Replay   safe: the request is known then
-- What is put aside again meanwhile stays: a consumer that fails would keep this up for ever.
local was, answer = known()
if was then
	return answer
end
local till = ARGV[8]
if till == '+' then
	local newest = redis.call('xrevrange', KEYS[2], '+', '-', 'COUNT', 1)[1]
	if not newest then
		return done('0 . ' .. till)
	end
	till = newest[1]
end
local some = redis.call('xrange', KEYS[2], ARGV[3], till, 'COUNT', ARGV[4])
local back, at = 0, '.'
for _, dead in ipairs(some) do
	at = '(' .. dead[1]
	local id
	for i = 1, #dead[2], 2 do
		if dead[2][i] == 'g' then
			id = dead[2][i + 1]
		end
	end
	if id and #redis.call('xrange', KEYS[1], id, id) > 0 then -- what the stream has no more stays aside
		-- It counts as left alone for longer than any consumer waits.
		redis.call('xclaim', KEYS[1], ARGV[2], ARGV[5], 0, id, 'TIME', 1, 'RETRYCOUNT', 0, 'FORCE', 'JUSTID')
		redis.call('xdel', KEYS[2], dead[1])
		back = back + 1
	end
end
if back > 0 then
	-- pcall: an ACL that denies the channel must not turn it into an error.
	redis.pcall(ARGV[7], ARGV[6], ARGV[2])
end
if #some < tonumber(ARGV[4]) then
	at = '.'
end
return done(table.concat({back, at, till}, ' '))
