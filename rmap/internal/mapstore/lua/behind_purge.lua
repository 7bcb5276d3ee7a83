-- behind_purge.lua: drop changes that a store has not taken.
--
-- Include: dead.lua
-- KEYS[1]   stream of changes that the store has not taken
-- KEYS[2]   which of those is the last of an entry
-- ARGV[1…]  their ids; without any all are dropped
--
-- Returns  integer  how many there were
-- Replay   safe: the second run counts only what it drops itself
redis.call('hlen', KEYS[2]) -- what fails for good does so before anything is dropped
if #ARGV == 0 then
	local n = redis.call('xlen', KEYS[1])
	redis.call('unlink', KEYS[1], KEYS[2])
	return n
end
local some, known = {}, {}
for _, id in ipairs(ARGV) do
	local one = not known[id] and redis.call('xrange', KEYS[1], id, id)[1]
	if one then
		some[#some + 1], known[id] = {one[1], {[6] = one[2][6]}}, true
	end
end
raise(KEYS[1], KEYS[2], some)
return #some
