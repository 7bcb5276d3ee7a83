-- groups.lua: messages of a group are ready one after the other, or a few at a time.
--
-- Include: put.lua
-- Needs    queue.lua, plain.lua
-- Defines  followed; if rare: behind, joins, leave
--
-- head has of each group the id of one message that is under way: ready, delayed or with a consumer. Of a group that may have
-- several it has "group NUL id" of each other one, and "group NUL", their number. order has the messages behind.
local followed = 0 -- how many messages were made ready that had waited behind their group
local behind, joins, leave
if rare then
	-- behind returns the member of order of a message that waits behind its group.
	function behind(group, id)
		return group .. '\0' .. string.format('%016.0f', tonumber(id))
	end

	-- together returns how many messages of a group may be under way, as the terms say; false: one, and it was never another number.
	local bound
	local function together()
		if bound == nil then
			local terms = redis.call('hget', meta, 'terms') or ''
			bound = tonumber(string.match(terms, '^' .. string.rep('[^|]*|', 7) .. '(%d+)$') or '') or false
		end
		return bound
	end

	-- first returns the first member of order of a group, and its id.
	local function first(group)
		local member = redis.call('zrangebylex', order, '[' .. group .. '\0', '(' .. group .. '\1', 'LIMIT', 0, 1)[1]
		return member, member and whole(tonumber(string.sub(member, -16)))
	end

	-- sits counts a message as under way in its group, if the group has room for one more.
	local function sits(group, id)
		local has = redis.call('hmget', head, group, group .. '\0')
		if (has[1] and 1 or 0) + (has[2] or 0) >= together() then
			return false
		elseif has[1] then
			redis.call('hset', head, group .. '\0' .. id, '')
			redis.call('hincrby', head, group .. '\0', 1)
		else
			redis.call('hset', head, group, id)
		end
		return true
	end

	-- follow makes messages behind a group ready, in their order, for as long as the group has room. A raised bound makes room
	-- for any number: a script has about 200 follow. Each later event of the group has more of them follow.
	local function follow(group)
		repeat
			local member, heir = first(group)
			local goes = heir and sits(group, heir)
			if goes then
				redis.call('zrem', order, member)
				put(heir, false)
				followed = followed + 1
			end
		until not goes or followed >= 200
	end

	-- joins reports whether a message is under way in its group from now on, or is already. Otherwise it waits behind its group,
	-- or is ready already.
	function joins(group, id)
		if not together() then
			if redis.call('hsetnx', head, group, id) == 1 or redis.call('hget', head, group) == id then
				return true
			end
			redis.call('zadd', order, 0, behind(group, id))
			return false
		elseif redis.call('hget', head, group) == id or redis.call('hexists', head, group .. '\0' .. id) == 1 then
			return true
		end
		redis.call('zadd', order, 0, behind(group, id))
		follow(group) -- those before it go first: there are some where the bound was raised
		return false
	end

	-- inherit gives the place of the head of a group to the first message behind, where one is under way at a time.
	local function inherit(group)
		local member, heir = first(group)
		if not heir then
			redis.call('hdel', head, group)
			return
		end
		redis.call('zrem', order, member)
		redis.call('hset', head, group, heir)
		put(heir, false)
	end

	-- leave ends the part of a message in its group, and in what is unique. text is its field of opt.
	function leave(id, text)
		local _, _, only, group = parse(text)
		if only ~= '' and redis.call('hget', unique, only) == id then
			redis.call('hdel', unique, only)
		end
		if group == '' then
			return
		elseif redis.call('hget', head, group) == id then
			if not together() then
				inherit(group)
				return
			end
			redis.call('hdel', head, group)
			follow(group)
		elseif together() and redis.call('hdel', head, group .. '\0' .. id) == 1 then
			if redis.call('hincrby', head, group .. '\0', -1) == 0 then
				redis.call('hdel', head, group .. '\0')
			end
			follow(group)
		else
			redis.call('zrem', order, behind(group, id))
		end
	end
end
