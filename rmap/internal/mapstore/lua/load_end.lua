-- load_end.lua: give the lease of a load back that has brought no entry.
--
-- Include: lease.lua
-- KEYS[1]  lease of who loads the entry
-- ARGV[1]  the caller's token
-- ARGV[2]  publish or spublish
-- ARGV[3]  channel of those who wait for the entry
-- ARGV[4]  what came of it: loaded, absent, failed, or left
--
-- Returns  integer  1 it was the caller's; 0 it was not any more, and nobody was told
-- Replay   safe: a second run finds no lease, and says 0: the caller looks what is there
if not leased(KEYS[1], ARGV[1]) then
	return 0
end
ended(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return 1
