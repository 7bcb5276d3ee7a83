-- info.lua: what is told of a message.
--
-- Include: queue.lua

-- describe appends id, state, attempts, when, last cause, options and body of a message; nothing, if there is none.
local function describe(to, id, state, when)
	local text = redis.call('hget', body, id)
	if not text then
		return
	end
	local attempts, cause = string.match(redis.call('hget', failure, id) or '', '^(%d+) (.*)$')
	local all = {id, state, attempts or '0', when, cause or '', optioned and redis.call('hget', opt, id) or '', text}
	for i = 1, #all do
		to[#to + 1] = all[i]
	end
end

-- held is the member of lease of a message that somebody has.
local function held(id)
	local of = member(id, whole((redis.call('hget', tries, id) or 0) + 1))
	return redis.call('zscore', lease, of), of
end
