-- ttl.lua: how long a key has.
--
-- Include: key.lua
-- KEYS[1]  index
-- KEYS[2]  when keys end
-- KEYS[3]  values of the key
-- ARGV[1]  the caller's clock, ms
-- ARGV[2]  list or set
-- ARGV[3]  key
-- ARGV[4]  1: the server keeps the time
--
-- Returns  integer  ms; -1: it has no end; -2: there is none
-- Replay   reads: it changes nothing
if not lives(ARGV[3], ARGV[1], KEYS[3]) or count(ARGV[2], KEYS[3]) == 0 then
	return -2
end
local ends = redis.call('zscore', KEYS[2], ARGV[3])
local left = ARGV[4] == '1' and redis.call('hpttl', KEYS[1], 'FIELDS', 1, ARGV[3])[1] or -1
if ends then
	local by = math.max(tonumber(ends) - tonumber(ARGV[1]), 1)
	left = left >= 0 and math.min(left, by) or by
end
return left
