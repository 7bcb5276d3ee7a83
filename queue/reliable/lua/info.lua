-- info.lua: what is told of a message.
--
-- Include: queue.lua
-- Include: plain.lua

-- describe appends id, state, attempts, when, last cause, options, number of the delivery, who has it, progress and body of a message;
-- nothing, if there is none. of is its member of lease, if somebody has it.
local function describe(to, id, state, when, of)
	local text = redis.call('hget', body, id)
	if not text then
		return
	end
	local attempts, cause = string.match(redis.call('hget', failure, id) or '', '^(%d+) (.*)$')
	local _, _, delivery, client = parts(of or '0')
	local who = client ~= '' and redis.call('hget', owners, client) or ''
	local all = {id, state, attempts or '0', when, cause or '', optioned and redis.call('hget', opt, id) or '', delivery, who, redis.call('hget', progress, id) or '', text}
	for i = 1, #all do
		to[#to + 1] = all[i]
	end
end

-- held returns when the lease of a message ends, and its member; nil, if nobody has it. Leases are found by their member, so
-- this walks over what is under way: a few ms at a hundred thousand.
local function held(id)
	local ends, at = redis.call('zscore', lease, id), '0' -- of an earlier version
	if ends then
		return ends, id
	end
	repeat
		local page = redis.call('zscan', lease, at, 'MATCH', id .. ':*', 'COUNT', 10000)
		if page[2][1] then
			return page[2][2], page[2][1]
		end
		at = page[1]
	until at == '0'
end
