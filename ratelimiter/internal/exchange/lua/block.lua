-- block.lua: grant nothing for a while. It replaces an earlier block, but what was reserved for the end of that keeps it.
--
-- Include: state.lua
-- KEYS[1]  state of the bucket
-- ARGV[1]  generation of the rule, for a bucket that is full
-- ARGV[2]  for how long from now, µs
--
-- Returns  number  until when, server time in µs
-- Replay   unsafe: a second run that comes late blocks again
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local till = now + ARGV[2]
local g, t, w, f, earlier, left = tonumber(ARGV[1]), 0, 0, 0, 0, 0
local state = redis.call('GET', KEYS[1])
if state then
	g, t, w, f, earlier = load(state)
	if not g then
		return redis.error_reply('WRONGTYPE this is not the state of a rate limiter')
	end
	if t > till and t <= earlier then
		till = earlier
	end
	left = redis.call('PTTL', KEYS[1])
end
local px = math.ceil((till - now) / 1000) + 1
if px < left then
	px = left
end
redis.call('SET', KEYS[1], struct.pack('>i7i7i7i7i7', g, t, w, f, till), 'PX', px)
return till
