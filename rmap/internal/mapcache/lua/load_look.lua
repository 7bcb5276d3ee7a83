-- load_look.lua: read an entry, which counts as an access, or take the lease to load it.
--
-- Include: entry.lua
-- Include: seen.lua
-- Include: lease.lua
-- Include: pending.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  accesses
-- KEYS[5]  options
-- KEYS[6]  lease of who loads the entry
-- KEYS[7]  stream of changes for the store behind the map
-- KEYS[8]  which of them is the last of an entry
-- ARGV[1]  the caller's token
-- ARGV[2]  the caller's clock, ms
-- ARGV[3]  how long its lease is, ms
-- ARGV[4]  empty; ahead: the lease also if there is an entry; mine: also from another who has it
-- ARGV[5]  key
--
-- Returns  string  the entry as the hash has it
--          0       the caller has the lease
--          array   {what the store does not have yet: = and the value, or nothing}; or
--                  {how long another has it still, ms; that one's token}
-- Replay   safe: the lease that the caller has stays its own, and a second access is one like the first
local packed, rest
if ARGV[4] ~= 'ahead' then
	packed, rest = live(ARGV[5])
end
if not packed then
	local last = pending(KEYS[7], KEYS[8], ARGV[5])
	if last then
		return {last}
	end
	return lease(KEYS[6], ARGV[1], ARGV[3], ARGV[4] == 'mine')
end
seen(ARGV[5], rest)
return packed
