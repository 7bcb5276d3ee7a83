-- load_look.lua: read an entry, or take the lease to load it.
--
-- Include: lease.lua
-- Include: pending.lua
-- KEYS[1]  map
-- KEYS[2]  lease of who loads the entry
-- KEYS[3]  stream of changes for the store behind the map
-- KEYS[4]  which of them is the last of an entry
-- ARGV[1]  the caller's token
-- ARGV[2]  how long its lease is, ms
-- ARGV[3]  empty; ahead: the lease also if there is an entry; mine: also from another who has it
-- ARGV[4]  field
--
-- Returns  text   the entry
--          0      the caller has the lease
--          array  {what the store does not have yet: = and the value, or nothing}; or
--                 {how long another has it still, ms; that one's token}
-- Replay   safe: the lease that the caller has stays its own
local there = ARGV[3] ~= 'ahead' and redis.call('hget', KEYS[1], ARGV[4])
local last = not there and pending(KEYS[3], KEYS[4], ARGV[4])
if last then
	return {last}
end
return there or lease(KEYS[2], ARGV[1], ARGV[2], ARGV[3] == 'mine')
