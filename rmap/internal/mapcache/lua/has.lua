-- has.lua: is there an entry? Asking counts as an access.
--
-- Include: entry.lua
-- Include: seen.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  accesses
-- KEYS[5]  options
-- ARGV[1]  key
-- ARGV[2]  the caller's clock, ms
--
-- Returns  integer  1 if there is one that has not expired, else 0
-- Replay   safe: the second access is one like the first, and of no weight
local packed, rest = live(ARGV[1])
if not packed then
	return 0
end
seen(ARGV[1], rest)
return 1
