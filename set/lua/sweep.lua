-- sweep.lua: drop members that have expired, a batch at a time and one process of the fleet at a time. It tells of them for as
-- long as somebody hears it.
--
-- Include: latch.lua
-- KEYS[1]  set
-- KEYS[2]  latch of who sweeps
-- ARGV[1]  who sweeps
-- ARGV[2]  the caller's clock, ms
-- ARGV[3]  publish or spublish
-- ARGV[4]  channel
-- ARGV[5]  how long the latch is the sweeper's, ms
-- ARGV[6]  how many at most
-- ARGV[7]  how many at most if they are told of
-- ARGV[8]  1: that nobody heard an event proves nothing
-- ARGV[9]  how far the caller's clock may be ahead of the server's, ms; empty: not looked at
--
-- Returns  array  {how many have gone; 1 if there are more, else 0; when the next is due, as text, empty: none is}
--                 {-1, ms until another's latch ends}
--                 {-2, ms by which the caller's clock is ahead}: nothing was done
-- Replay   safe: what has gone is gone
local ahead = early(ARGV[2], ARGV[9])
if ahead then
	return {-2, ahead}
end
local due = redis.call('zcount', KEYS[1], '-inf', ARGV[2])
local busy = due > 0 and denied(KEYS[2], ARGV[1], ARGV[5])
if busy then
	return {-1, busy}
end

-- tell publishes a member behind its length, eight bytes little-endian, as Redisson does, and returns whether it may have been
-- heard. An ACL that denies the channel must not keep what has expired.
local function tell(name)
	local n = #name
	local size = string.char(n % 256, math.floor(n / 256) % 256, math.floor(n / 65536) % 256, math.floor(n / 16777216), 0, 0, 0, 0)
	local hear = redis.pcall(ARGV[3], ARGV[4], size .. name)
	return ARGV[8] == '1' or type(hear) == 'number' and hear > 0
end

local told, bytes, heard = 0, 0, true
while heard and told < math.min(due, tonumber(ARGV[7])) and bytes < 262144 do
	local name = redis.call('zrange', KEYS[1], told, told)[1]
	heard, told, bytes = tell(name), told + 1, bytes + #name
end
local gone = heard and told or math.min(due, tonumber(ARGV[6]))
if gone > 0 then
	redis.call('zremrangebyrank', KEYS[1], 0, gone - 1)
end
local first = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES')
return {gone, gone < due and 1 or 0, first[2] and first[2] ~= 'inf' and tonumber(first[2]) < 9e15 and first[2] or ''}
