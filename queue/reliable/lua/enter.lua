-- enter.lua: messages whose time has come.
--
-- Include: groups.lua
-- Needs    queue.lua, plain.lua
-- Defines  enter, if rare
local enter
if rare then
	-- enter takes messages whose time has come. Each is ready, or waits behind its group. All go in few commands.
	function enter(ids)
		local texts = optioned and redis.call('hmget', opt, unpack(ids))
		local line, scored = {}, {}
		for i = 1, #ids do
			local id, priority, _, _, group = ids[i], parse(texts and texts[i])
			if group ~= '' and not joins(group, id) then
				priority = nil
			elseif priority > 0 then
				scored[#scored + 1], scored[#scored + 2] = whole(id - priority * 17592186044416), id
			else
				line[#line + 1] = id
			end
		end
		if #line > 0 then
			redis.call('rpush', ready, unpack(line))
		end
		if #scored > 0 then
			redis.call('zadd', prio, unpack(scored))
		end
	end
end
