-- seed.lua: put a page of the entries in order that were there before the bound: as those not used for longest.
--
-- KEYS[1]  hash
-- KEYS[2]  accesses
-- ARGV[1]  where to go on; 0: from the start
-- ARGV[2]  how many, about
--
-- Returns  string  where to go on; 0: that was all
-- Replay   safe: an entry that is in order stays where it is
local page = redis.call('hscan', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local found, members = page[2], {}
for i = 1, #found, 2 do
	members[#members + 1] = 0
	members[#members + 1] = found[i]
	if #members >= 5000 or i + 1 >= #found then
		redis.call('zadd', KEYS[2], 'NX', unpack(members))
		members = {}
	end
end
return page[1]
