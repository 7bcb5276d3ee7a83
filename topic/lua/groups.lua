-- groups.lua: the groups of the stream at KEYS[1], and what they have use for.

local function field(info, name)
	for i = 1, #info, 2 do
		if info[i] == name then
			return info[i + 1]
		end
	end
end

local function parts(id)
	local ms, seq = string.match(id, '^(%d+)%-(%d+)$')
	return ms or id, seq or '0'
end

-- smaller compares decimal numbers, which may have more digits than a number here.
local function smaller(a, b)
	return #a < #b or #a == #b and a < b
end

local function before(a, b)
	local am, as = parts(a)
	local bm, bs = parts(b)
	if am ~= bm then
		return smaller(am, bm)
	end
	return smaller(as, bs)
end

-- behind is the first id after one, or itself where numbers end.
local function behind(id)
	local ms, seq = parts(id)
	if #seq > 15 then
		return id
	end
	return ms .. '-' .. string.format('%.0f', tonumber(seq) + 1)
end

-- trim drops what every group is done with: nothing that one of them has not
-- acknowledged, or not read. Without a group all stays for the next. It returns which
-- message is the first then, and how many groups still have use for that.
local function trim()
	local keep
	local needs = {}
	for _, group in ipairs(redis.call('xinfo', 'groups', KEYS[1])) do
		local first = behind(field(group, 'last-delivered-id'))
		if field(group, 'pending') > 0 then
			first = redis.call('xpending', KEYS[1], field(group, 'name'))[2]
		end
		needs[#needs + 1] = first
		if not keep or before(first, keep) then
			keep = first
		end
	end
	if keep then
		redis.call('xtrim', KEYS[1], 'MINID', '=', keep)
	end
	local first = redis.call('xrange', KEYS[1], '-', '+', 'COUNT', 1)[1]
	if not first then
		return nil, 0
	end
	local holders = 0
	for _, need in ipairs(needs) do
		if not before(first[1], need) then
			holders = holders + 1
		end
	end
	return first[1], holders
end
