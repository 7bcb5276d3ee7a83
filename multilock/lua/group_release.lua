-- group_release.lua: give back the values that an owner holds.
--
-- KEYS[1]  group hash, the name itself
-- ARGV[1]  owner
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
-- ARGV[4…]  fields of the values
--
-- Returns  integer  how many subscribers the message reached; -1: it did not hold all of them. What it did hold is
--                   given back all the same
-- Replay   safe: the owner is fresh, so a second run finds it gone and changes nothing
local mine = {}
for i = 4, #ARGV do
	if redis.call('hget', KEYS[1], ARGV[i]) == ARGV[1] then
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
-- pcall: an ACL that denies the channel must not turn a release into an error.
local reached = redis.pcall(ARGV[3], ARGV[2], '0')
if #mine < 3 * (#ARGV - 3) then
	return -1
end
return type(reached) == 'number' and reached or 0
