-- keep.lua: what is kept of messages that are done.
--
-- Include: remember.lua
-- Needs    queue.lua, outset.lua
-- Defines  keep, if keeps_done
local keep
if keeps_done then
	-- keep remembers messages that are done, if the terms say so. members are those that they had in lease.
	function keep(ids, members)
		local period = terms ~= no_terms and term(7, 0) or 0
		if period == 0 then
			return
		end
		local bodies, texts = redis.call('hmget', body, unpack(ids)), optioned and redis.call('hmget', opt, unpack(ids))
		local n, all, ends = 0, {}, {}
		for i = 1, #ids do
			if bodies[i] then
				local _, attempt, delivery = parts(members[i])
				local text = texts and texts[i] or ''
				n = n + 1
				all[2 * n - 1], all[2 * n] = ids[i], table.concat({'d', whole(now), attempt, delivery, #text, text .. bodies[i]}, ' ')
				ends[2 * n - 1], ends[2 * n] = whole(now + period), ids[i]
			end
		end
		if n > 0 then
			remember(n, all, ends, period)
		end
	end
end
