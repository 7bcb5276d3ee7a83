-- load_put.lua: write an entry that was loaded, or remove one of which there is none any more, if nobody has written or
-- removed it meanwhile, and give the lease back.
--
-- Include: store.lua
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
-- ARGV[1]   the caller's token
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   channel of those who wait for the entry
-- ARGV[5]   key
-- ARGV[6]   entry as the hash has it; empty: there is none any more
-- ARGV[7]   when it ends, ms; empty: never; =: its times are those of the one that is there
-- ARGV[8]   when it has rested for too long, ms; empty: never
-- ARGV[9]   what the loader has seen: = and the value; empty: nothing that lives
--
-- Returns  array  {what the bound needs, see store.lua; 1 written, or removed, 0 the lease is not the caller's any more, or
--                 somebody has written; how many entries it has evicted}
-- Replay   safe: a second run finds no lease, and says 0: the caller looks what is there
if not leased(KEYS[6], ARGV[1]) then
	redis.pcall(publish, ARGV[4], 'loaded ' .. ARGV[1]) -- who waits looks what is there
	return {0, 0, 0}
end
local old, rest = live(ARGV[5])
local same, left = (old and '=' .. string.sub(old, 17) or '') == ARGV[9], 0
same = same and not pending(KEYS[7], KEYS[8], ARGV[5])
if same and ARGV[6] == '' then
	changing()
	forget({ARGV[5]})
	if old and told then
		tell('removed', ARGV[5], old)
	end
elseif same then
	left = put(ARGV[5], ARGV[6], ARGV[7], ARGV[8], old, rest)
end
ended(KEYS[6], ARGV[1], publish, ARGV[4], same and ARGV[6] == '' and 'absent' or 'loaded')
return {left, same and 1 or 0, evicted}
