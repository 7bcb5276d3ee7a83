-- begun.lua: the mark of an attempt whose handler has begun, or is about to.
--
-- Needs    queue.lua, plain.lua
-- Defines  begun, if rare
local begun
if rare then
	-- begun marks that a handler is at the attempt. First attempts have no mark: a process that dies of a message has no time to set
	-- it. So what has waited beside such a message loses one attempt, and no further ones.
	function begun(id, attempt)
		redis.call('hset', tries, id .. '!', attempt)
		plain = false
	end
end
