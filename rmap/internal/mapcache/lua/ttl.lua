-- ttl.lua: how long an entry has left, by its time to live and its idle time. Looking is no access.
--
-- Include: entry.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- ARGV[1]  key
-- ARGV[2]  the caller's clock, ms
--
-- Returns  integer  ms; -1: for ever; -2: there is none
-- Replay   reads: it changes nothing
local packed, rest = live(ARGV[1])
if not packed then
	return -2
end
local left = tonumber(redis.call('zscore', KEYS[2], ARGV[1]) or 2 ^ 53)
if rest > 0 then
	left = math.min(left, tonumber(redis.call('zscore', KEYS[3], ARGV[1]) or 2 ^ 53))
end
return left < 2 ^ 53 and left - now or -1
