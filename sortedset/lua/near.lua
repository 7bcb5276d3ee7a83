-- near.lua: some members of a set of places around a centre.
--
-- KEYS[1]   set
-- ARGV[1]   how many members at most
-- ARGV[2]   bytes at most, about
-- ARGV[3]   ASC: the nearest ones; DESC: the farthest ones; ANY: those that the server finds first
-- ARGV[4…]  the centre and the area, as GEOSEARCH takes them
--
-- Returns  array  {the score of the centre, empty if it is a position; 1: these are all members of the area, 0: there may be more;
--                 members, each followed by its score}
--          nil    the centre is a member that is not there
-- Replay   reads: it changes nothing
local center = ''
if ARGV[4] == 'FROMMEMBER' then
	center = redis.call('zscore', KEYS[1], ARGV[5])
	if not center then
		return false
	end
end
local size, card = 1, redis.call('zcard', KEYS[1]) -- of the largest of some
for i = 0, card > 0 and 4 or -1 do
	local at = math.floor((card - 1) * i / 4)
	size = math.max(size, #redis.call('zrange', KEYS[1], at, at)[1])
end
local count = math.max(1, math.min(tonumber(ARGV[1]), math.floor(tonumber(ARGV[2]) / size)))
local words = {unpack(ARGV, 4)}
if ARGV[3] ~= 'ANY' then
	words[#words + 1] = ARGV[3]
end
words[#words + 1] = 'COUNT'
words[#words + 1] = count
if ARGV[3] == 'ANY' then
	words[#words + 1] = 'ANY'
end
words[#words + 1] = 'WITHHASH'
local found = redis.call('geosearch', KEYS[1], unpack(words))
local some, bytes = {}, 0
for i, one in ipairs(found) do
	bytes = bytes + #one[1]
	if bytes > tonumber(ARGV[2]) and i > 1 then
		return {center, 0, some}
	end
	some[2 * i - 1] = one[1]
	some[2 * i] = string.format('%.0f', one[2])
end
return {center, #found < count and 1 or 0, some}
