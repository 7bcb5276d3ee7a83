-- nack.lua: have an entry come again later, or put it aside.
--
-- Include: done.lua
-- KEYS[1]  stream
-- KEYS[2]  stream of what was put aside: g, the entry's ID; n, how often it was delivered; c, why; and its own fields, each behind "="; x, how many of them it lacks
-- KEYS[3]  hash: durable group → how many messages it has missed; or the stream, where they are not counted
-- KEYS[4]  what remembers the answer
-- ARGV[1]  how long it is remembered, ms
-- ARGV[2]  group
-- ARGV[3]  consumer that has it
-- ARGV[4]  its ID
-- ARGV[5]  how often it was delivered
-- ARGV[6]  how long it counts as left alone already, ms; negative: it is put aside
-- ARGV[7]  why
-- ARGV[8]  how many stay of what was put aside, about
-- ARGV[9]  the ID that it had before it was redriven, if the stream is of such: it has the fields of what was put aside, and goes from there; or ''
--
-- Returns  integer  1 it comes again, 2 it was put aside, 3 the stream has dropped it, and it is counted, 0 another has it
-- Replay   safe: the request is known then; who has it, and how often it was delivered, are compared
local was, answer = known()
if was then
	return answer
end
local pending = redis.pcall('xpending', KEYS[1], ARGV[2], ARGV[4], ARGV[4], 1)
if pending.err then
	if KEYS[3] ~= KEYS[1] and string.find(pending.err, 'NOGROUP', 1, true) then
		return 0 -- a stream of what was redriven goes with its last message
	end
	return pending
end
local of = pending[1]
if not of or of[2] ~= ARGV[3] or of[4] ~= tonumber(ARGV[5]) then
	return 0 -- it is not remembered: a copy says the same, and a full server says it, too
end
local function dropped()
	redis.call('xack', KEYS[1], ARGV[2], ARGV[4]) -- no effect since Redis 7 behind a claim, which has done it
	if KEYS[3] ~= KEYS[1] then
		redis.call('hincrby', KEYS[3], ARGV[2], 1)
	end
	return done(3)
end
if tonumber(ARGV[6]) >= 0 then
	local got = redis.call('xclaim', KEYS[1], ARGV[2], ARGV[3], 0, ARGV[4], 'IDLE', ARGV[6], 'RETRYCOUNT', of[4], 'JUSTID')
	if got[1] then
		return done(1)
	end
	return dropped()
end
local entry = redis.call('xrange', KEYS[1], ARGV[4], ARGV[4])[1]
if not entry then
	return dropped()
end
local redriven = ARGV[9] ~= ''
local fields = {'g', redriven and ARGV[9] or ARGV[4], 'n', ARGV[5], 'c', ARGV[7]}
local most, lacks = 6 + 2 * 3900, 0 -- a call takes 8,000 words
for i = 1, #entry[2], 2 do
	local name, value = entry[2][i], entry[2][i + 1]
	local own = not redriven or string.sub(name, 1, 1) == '='
	if own and #fields < most then
		fields[#fields + 1] = (redriven and '' or '=') .. name
		fields[#fields + 1] = value
	elseif own then
		lacks = lacks + 1
	elseif name == 'x' then -- since it was put aside before
		lacks = lacks + tonumber(value)
	end
end
if lacks > 0 then
	fields[#fields + 1] = 'x'
	fields[#fields + 1] = lacks
end
redis.call('xadd', KEYS[2], 'MAXLEN', '~', ARGV[8], '*', unpack(fields))
redis.call('xack', KEYS[1], ARGV[2], ARGV[4])
if redriven then
	redis.call('xdel', KEYS[1], ARGV[4])
	if redis.call('xlen', KEYS[1]) == 0 then
		redis.call('del', KEYS[1])
	end
end
return done(2)
