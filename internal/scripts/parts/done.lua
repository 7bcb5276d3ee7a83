-- done.lua: the answer to a request that has an id, which the last key remembers; ARGV[1] is for how long, in ms, and 0
-- for a request without an id.
local request = ARGV[1] ~= '0' and KEYS[#KEYS]

-- known says whether this very request has been answered before, and how.
local function known()
	local was = request and redis.call('get', request)
	if not was then
		return false
	end
	local kind, answer = string.sub(was, 1, 1), string.sub(was, 2)
	if kind == 'i' then
		return true, tonumber(answer)
	end
	return true, kind == 's' and answer
end

-- done is the answer, an integer, a text or nothing, which a second run gives again. Also one that says that nothing was
-- done is kept: a copy that comes late must not do it then.
local function done(answer)
	if request then
		local text = 'n'
		if type(answer) == 'number' then
			text = 'i' .. string.format('%.0f', answer)
		elseif answer then
			text = 's' .. answer
		end
		redis.call('set', request, text, 'PX', ARGV[1])
	end
	return answer
end
