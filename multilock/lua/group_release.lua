-- group_release.lua: give back the values that an owner holds.
--
-- KEYS[1]  group hash, the name itself
-- ARGV[1]  owner
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
-- ARGV[4]  channel of this library, for which fields were released
-- ARGV[5…]  fields of the values
--
-- Returns  integer  how many subscribers the message reached; -1: it did not hold all of them. What it did hold is
--                   given back all the same
-- Replay   safe: the owner is fresh, so a second run finds it gone and changes nothing
local mine, freed = {}, {}
for i = 5, #ARGV do
	if redis.call('hget', KEYS[1], ARGV[i]) == ARGV[1] then
		freed[#freed + 1] = ARGV[i]
		mine[#mine + 1] = ARGV[i]
		mine[#mine + 1] = ARGV[i] .. ':' .. ARGV[1] .. ':expire_time'
		mine[#mine + 1] = ARGV[i] .. ':' .. ARGV[1] .. ':lock_count'
	end
end
if #mine == 0 then
	return -1
end
for i = 1, #mine, 1000 do -- as many as can be passed on at once
	redis.call('hdel', KEYS[1], unpack(mine, i, math.min(i + 999, #mine)))
end
-- With the last field goes the key: nothing is asked of it any more.
-- Java's waiters take 00 for 0, and look. Those of this library look only for fields of their own, which the other
-- message names; that of many fields is 0, and all of them look.
-- pcall: an ACL that denies a channel must not turn a release into an error.
local reached = redis.pcall(ARGV[3], ARGV[2], '00')
redis.pcall(ARGV[3], ARGV[4], #freed > 100 and '0' or table.concat(freed, ' '))
if #freed < #ARGV - 4 then
	return -1
end
return type(reached) == 'number' and reached or 0
