-- near_into.lua: write the members of a set of places around a centre into another set.
--
-- KEYS[1]   set that is read
-- KEYS[2]   set that is written
-- ARGV[1…]  the centre and the area, and what else GEOSEARCHSTORE takes
--
-- Returns  integer  how many there are
--          nil      the centre is a member that is not there, and nothing was done
-- Replay   once: a second run finds what is there then
if ARGV[1] == 'FROMMEMBER' and not redis.call('zscore', KEYS[1], ARGV[2]) then
	return false
end
return redis.call('geosearchstore', KEYS[2], KEYS[1], unpack(ARGV))
