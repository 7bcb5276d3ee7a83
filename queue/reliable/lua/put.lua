-- put.lua: a message is made ready.
--
-- Include: plain.lua
-- Needs    queue.lua
-- Defines  put, if rare
local put
if rare then
	-- put makes a message ready. Its priority and its id give its place. Without a priority it goes to the front or to the end.
	function put(id, front)
		local priority = options(id)
		if priority > 0 then
			redis.call('zadd', prio, whole(id - priority * 17592186044416), id)
		elseif front then
			redis.call('lpush', ready, id)
		else
			redis.call('rpush', ready, id)
		end
	end
end
