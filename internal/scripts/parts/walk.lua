-- walk.lua: some fields of a hash, for a walk: as many as are asked for, or as have so many bytes.

-- step is HSCAN. A server that cannot leave out the values sends them, and they are left out here.
local function step(key, cursor, words, values)
	if values then
		return redis.call('hscan', key, cursor, unpack(words)), 2
	end
	words[#words + 1] = 'NOVALUES'
	local page = redis.pcall('hscan', key, cursor, unpack(words))
	words[#words] = nil
	if not page.err then
		return page, 1
	end
	return redis.call('hscan', key, cursor, unpack(words)), 2
end

-- A page of so few fields may be of large values.
local few = 10

-- room reads the values of fields, one at a time, until they have limit bytes: HSCAN returns a whole bucket of the
-- server's hash table, which may have several. It returns {name, value, …} and the names of the others. The first
-- value is read always if first is set.
local function room(key, names, limit, first)
	local found, left, bytes = {}, {}, 0
	for _, name in ipairs(names) do
		local size = redis.call('hstrlen', key, name)
		if not (first and #found == 0) and bytes + size > limit then
			left[#left + 1] = name
		else
			local value = redis.call('hget', key, name)
			if value then
				found[#found + 1] = name
				found[#found + 1] = value
				bytes = bytes + size
			end
		end
	end
	return found, left
end

-- pages goes on from cursor. It asks for count fields first, and when some were found for at most four times as many as
-- before: large ones must not come in great numbers before anything is known of them. words are what HSCAN takes beside. It returns
-- where to go on, the fields, each with its value where values are asked for, how many it has passed, and the bytes read.
-- beside, if there is one, tells how many bytes the caller reads beside of what HSCAN has returned: those are in the bounds, too.
-- Fields for whose values there was no room come last: the caller asks for each of them.
local function pages(key, cursor, count, most, limit, words, values, beside)
	local found, passed, bytes, left = {}, 0, 0, {}
	words[#words + 1] = 'COUNT'
	local at = #words + 1
	repeat
		words[at] = count
		local page, each = step(key, cursor, words, values and count > few)
		if values and each == 1 and #page[2] > few then -- a small hash, which comes in one piece
			page, each = step(key, cursor, words, true)
		elseif values and each == 1 then
			page[2], left = room(key, page[2], limit - bytes, passed == 0)
			each = 2
			if passed > 0 and #left > 0 then
				left = {}
				break -- the next page begins with these
			end
		end
		local more = beside and beside(page[2], each) or 0
		while passed == 0 and more > limit and count > 1 do
			count = math.max(math.floor(math.min(count / 2, count * limit / more)), 1)
			words[at] = count
			page, each = step(key, cursor, words, values)
			more = beside(page[2], each)
		end
		if passed > 0 and bytes + more > limit then
			break -- the next page begins with these
		end
		cursor, bytes = page[1], bytes + more
		for i = 1, #page[2], each do
			found[#found + 1] = page[2][i]
			if values then
				found[#found + 1] = page[2][i + 1]
			end
			for j = i, i + each - 1 do
				bytes = bytes + #page[2][j]
			end
		end
		passed = passed + math.max(count, #page[2] / each + #left)
		if bytes > 0 then
			count = math.min(4 * count, math.floor((limit - bytes) * passed / bytes))
		end
		count = math.min(count, most - passed)
	until cursor == '0' or count < 1 or #left > 0
	return cursor, found, passed, bytes, left
end
