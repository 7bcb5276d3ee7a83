-- behind_redrive.lua: queue changes anew that a store has not taken, but for those of whose entry something newer came since.
--
-- Include: dead.lua
-- Include: pending.lua
-- KEYS[1]   map
-- KEYS[2]   stream of changes
-- KEYS[3]   which of them is the last of an entry
-- KEYS[4]   stream of changes that the store has not taken
-- KEYS[5]   which of those is the last of an entry
-- ARGV[1]   how many changes may be queued
-- ARGV[2]   a value in the map begins behind so many bytes
-- ARGV[3]   what names this call
-- ARGV[4…]  ids of changes that the store has not taken
--
-- Returns  array    {how many were queued; how many of the ids it has come to: about 1 MB}
--          nil      so many changes are queued, and nothing was changed
-- Replay   safe: what is queued is not dead any more; the second run counts only what it does itself
if redis.call('xlen', KEYS[2]) + #ARGV - 3 > tonumber(ARGV[1]) then
	return false
end
redis.call('hexists', KEYS[3], '') -- what fails for good does so before anything is queued
local some, room, through = {}, 1048576, 0
for i = 4, #ARGV do
	if room < 0 then
		break
	end
	through = through + 1
	local one = redis.call('xrange', KEYS[4], ARGV[i], ARGV[i])[1]
	if one and not newer(KEYS[1], KEYS[3], KEYS[5], one[1], one[2][6], one[2][8], tonumber(ARGV[2])) then
		queue(KEYS[2], KEYS[3], one[2][6], one[2][8], ARGV[3])
		room = room - #one[2][6] - #one[2][8]
		some[#some + 1] = one
	end
end
raise(KEYS[4], KEYS[5], some)
return {#some, through}
