-- near_into.lua: write the members of a set of places around a centre into another set.
--
-- KEYS[1]   set that is read
-- KEYS[2]   set that is written
-- ARGV[1…]  the centre and the area, and what else GEOSEARCHSTORE takes
--
-- Returns  integer  how many there are
--          nil      the centre is a member that is not there, and nothing was done
-- Replay   once: a second run finds what is there then
local words = {unpack(ARGV)}
if ARGV[1] == 'FROMMEMBER' then
	local score = redis.call('zscore', KEYS[1], ARGV[2])
	if not score then
		return false
	end
	local at = tonumber(score) >= 2 ^ 52 and redis.call('geopos', KEYS[1], ARGV[2])[1]
	if at then -- it is at an end, around which the server looks at a half alone: a tenth of a millimetre beside it sees both
		words = {unpack(ARGV, 3)}
		table.insert(words, 1, string.format('%.17g', math.min(tonumber(at[2]), 85.05112878 - 1e-9)))
		table.insert(words, 1, string.format('%.17g', math.min(tonumber(at[1]), 180 - 1e-9)))
		table.insert(words, 1, 'FROMLONLAT')
	end
end
return redis.call('geosearchstore', KEYS[2], KEYS[1], unpack(words))
