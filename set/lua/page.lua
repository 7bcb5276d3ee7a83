-- page.lua: some members of a set, for a walk: as many as are asked for, or as have so many bytes. The arguments of scripts that
-- include it are where to go on, how many members to ask for first, how many at most, and how many bytes at most.

local most, limit = tonumber(ARGV[3]), tonumber(ARGV[4])

-- weight is how many bytes members have, each of which has so many places.
local function weight(members, each)
	local bytes = 0
	for i = 1, #members, each do
		bytes = bytes + #members[i]
	end
	return bytes
end

-- page goes on by step, which reads about n from a cursor. It returns where to go on, what was found, how many members it has
-- passed, and their bytes. It asks for at most four times as many as it knows: large ones must not come in great numbers
-- before anything is known of them.
local function page(step, each)
	local cursor, count, found, passed, bytes = ARGV[1], tonumber(ARGV[2]), {}, 0, 0
	repeat
		local got = step(cursor, count)
		local more = weight(got[2], each)
		while passed == 0 and more > limit and count > 1 do
			count = math.max(math.floor(math.min(count / 2, count * limit / more)), 1)
			got = step(cursor, count)
			more = weight(got[2], each)
		end
		if passed > 0 and bytes + more > limit then
			break -- the next page begins with these
		end
		cursor, bytes = got[1], bytes + more
		for _, text in ipairs(got[2]) do
			found[#found + 1] = text
		end
		passed = passed + math.max(count, #got[2] / each)
		if bytes > 0 then
			count = math.min(4 * count, math.floor((limit - bytes) * passed / bytes))
		end
		count = math.min(count, most - passed)
	until cursor == '0' or count < 1
	return cursor, found, passed, bytes
end
