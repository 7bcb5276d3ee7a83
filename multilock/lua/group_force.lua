-- group_force.lua: take some values of a group away from whoever holds them.
--
-- KEYS[1]  group hash, the name itself
-- ARGV[1]  channel of releases
-- ARGV[2]  publish or spublish
-- ARGV[3]  channel of this library, for which fields were released
-- ARGV[4…]  fields of the values
--
-- Returns  1  somebody held one of them; 0  nobody did
-- Replay   unsafe: a second run would take them from the next holder
local gone, freed = {}, {}
for i = 4, #ARGV do
	local owner = redis.call('hget', KEYS[1], ARGV[i])
	if owner then
		freed[#freed + 1] = ARGV[i]
		gone[#gone + 1] = ARGV[i]
		gone[#gone + 1] = ARGV[i] .. ':' .. owner .. ':expire_time'
		gone[#gone + 1] = ARGV[i] .. ':' .. owner .. ':lock_count'
	end
end
if #gone == 0 then
	return 0
end
for i = 1, #gone, 1000 do -- as many as can be passed on at once
	redis.call('hdel', KEYS[1], unpack(gone, i, math.min(i + 999, #gone)))
end
-- As in group_release.lua.
redis.pcall(ARGV[2], ARGV[1], '00')
redis.pcall(ARGV[2], ARGV[3], #freed > 100 and '0' or table.concat(freed, ' '))
return 1
