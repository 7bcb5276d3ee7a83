-- load_put.lua: write an entry that was loaded, or remove one of which there is none any more, if nobody has written or
-- removed it meanwhile, and give the lease back.
--
-- Include: announce.lua
-- Include: write.lua
-- Include: lease.lua
-- Include: pending.lua
-- KEYS[1]  map
-- KEYS[2]  log of near caches
-- KEYS[3]  lease of who loads the entry
-- KEYS[4]  stream of changes for the store behind the map
-- KEYS[5]  which of them is the last of an entry
-- ARGV[1]  the caller's token
-- ARGV[2]  publish or spublish
-- ARGV[3]  channel of those who wait for the entry
-- ARGV[4]  field
-- ARGV[5]  = and the value; empty: there is none any more
-- ARGV[6]  what the loader has seen: = and the value; empty: nothing
-- ARGV[7]  time to live: ms, or keep for what the entry has; empty: for ever
-- ARGV[8…]  what near caches are told, if they are; see announce.lua
--
-- Returns  integer  1 written, or removed; 0 the lease is not the caller's any more, or somebody has written
-- Replay   safe: a second run finds no lease, and says 0: the caller looks what is there
if not leased(KEYS[3], ARGV[1]) then
	redis.pcall(ARGV[2], ARGV[3], 'loaded ' .. ARGV[1]) -- who waits looks what is there
	return 0
end
local there = redis.call('hget', KEYS[1], ARGV[4])
local same = (there and '=' .. there or '') == ARGV[6] and not pending(KEYS[4], KEYS[5], ARGV[4])
if same then
	announce(8)
	-- The first write is the one that takes memory: a full server refuses nothing after a script's first write.
	if ARGV[5] == '' then
		redis.call('hdel', KEYS[1], ARGV[4])
	else
		write(ARGV[4], string.sub(ARGV[5], 2), ARGV[7])
	end
end
ended(KEYS[3], ARGV[1], ARGV[2], ARGV[3], same and ARGV[5] == '' and 'absent' or 'loaded')
return same and 1 or 0
