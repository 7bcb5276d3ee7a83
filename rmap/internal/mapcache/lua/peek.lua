-- peek.lua: living entries with the times that they have. Looking is no access.
--
-- Include: entry.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- ARGV[1]   1: with the entries, 0: their times alone
-- ARGV[2]   the caller's clock, ms
-- ARGV[3…]  keys
--
-- Returns  array  for each key {the entry as the hash has it, or nothing; when it ends; when it has rested for too long},
--                 ms, empty for never; or nil: there is none that lives
-- Replay   reads: it changes nothing
local all = {}
for i = 3, #ARGV do
	local packed, rest = live(ARGV[i])
	all[i - 2] = packed and {
		ARGV[1] == '1' and packed or '',
		redis.call('zscore', KEYS[2], ARGV[i]) or '',
		rest > 0 and redis.call('zscore', KEYS[3], ARGV[i]) or '',
	} or false
end
return all
