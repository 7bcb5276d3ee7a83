-- behind_dead.lua: read changes that a store has not taken, as many as make an answer of bounded size.
--
-- Include: dead.lua
-- KEYS[1]  map
-- KEYS[2]  which change that is queued is the last of an entry
-- KEYS[3]  stream of changes that the store has not taken
-- KEYS[4]  which of those is the last of an entry
-- ARGV[1]  from where: -, or ( and the id of one
-- ARGV[2]  how many at most
-- ARGV[3]  how many bytes of keys and values at most; the first is there in any case
-- ARGV[4]  a value in the map begins behind so many bytes
--
-- Returns  array  {the changes as XRANGE returns them; for each 1 if something newer of its entry came since, else 0}
-- Replay   reads: it changes nothing
local some, overtaken, from, room = {}, {}, ARGV[1], tonumber(ARGV[3])
while #some < tonumber(ARGV[2]) do
	local one = redis.call('xrange', KEYS[3], from, '+', 'COUNT', 1)[1]
	if not one then
		break
	end
	room = room - #one[2][6] - #one[2][8]
	if #some > 0 and room < 0 then
		break
	end
	some[#some + 1] = one
	overtaken[#some] = newer(KEYS[1], KEYS[2], KEYS[4], one[1], one[2][6], one[2][8], tonumber(ARGV[4])) and 1 or 0
	from = '(' .. one[1]
end
return {some, overtaken}
