-- place.lua: the place of a message that is added with options.
--
-- Include: addrare.lua
-- Include: groups.lua
-- Needs    queue.lua, options.lua
-- Defines  line, lined, entered, moments; if rare: place
local line, lined, entered = {}, 0, 0 -- ids for the end of what is ready, how many; how many are ready with a priority
local moments = false -- whether some are delayed
local place
if rare then
	-- place finds a message its place. For a duplicate it returns the id of the other.
	function place(id, text)
		local once, delay, at, priority, expiry, period, n, own, rest =
			string.match(text, '^(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)([^|]*)|(.*)$')
		local only, group = string.sub(rest, 1, tonumber(n)), string.sub(rest, tonumber(n) + 1)
		if once ~= '0' and not redis.call('set', KEYS[22 + once], id, 'NX', 'PX', period) then
			return redis.call('get', KEYS[22 + once])
		elseif only ~= '' and redis.call('hsetnx', unique, only, id) == 0 then
			if once ~= '0' then
				redis.call('del', KEYS[22 + once])
			end
			return redis.call('hget', unique, only)
		end
		local expires = expiry == '0' and 0 or now + expiry
		if priority ~= '0' or expires ~= 0 or rest ~= '' or own ~= '' then
			redis.call('hset', opt, id, priority .. '|' .. whole(expires) .. '|' .. n .. own .. '|' .. rest)
			optioned = true -- a message that follows has a priority, perhaps
		end
		local moment = math.max(tonumber(at), delay == '0' and 0 or now + delay)
		if moment > now then
			redis.call('zadd', due, whole(moment), id)
			moments = true
		elseif group ~= '' and not joins(group, id) then
			group = nil
		elseif priority ~= '0' then
			redis.call('zadd', prio, whole(id - priority * 17592186044416), id)
			entered = entered + 1
		else
			lined = lined + 1
			line[lined] = id
		end
	end
end
