-- list.lua: some of the messages in a state.
--
-- Include: info.lua
-- KEYS[1…19] the parts of the queue, see queue.lua
-- ARGV[1]    ready, delayed, running, behind or dead
-- ARGV[2]    how many are passed over
-- ARGV[3]    how many are looked at
--
-- Returns  array  {how many were looked at, then of each id, state, attempts, when, cause, options, body}
-- Replay   safe: it changes nothing
local from, to = tonumber(ARGV[2]), ARGV[2] + ARGV[3] - 1
local out, seen = {0}, 0
if ARGV[1] == 'ready' then
	local ahead = redis.call('zcard', prio)
	local ids = redis.call('zrange', prio, from, to)
	if to >= ahead then
		for _, id in ipairs(redis.call('lrange', ready, math.max(0, from - ahead), to - ahead)) do
			ids[#ids + 1] = id
		end
	end
	for i = 1, #ids do
		describe(out, ids[i], 'ready', '0')
	end
	seen = #ids
else
	local of = {delayed = due, running = lease, behind = order, dead = dead}
	local all = redis.call('zrange', of[ARGV[1]], from, to, 'WITHSCORES')
	for i = 1, #all, 2 do
		local id = all[i]
		if ARGV[1] == 'running' then
			id = string.match(id, '^%d+')
		elseif ARGV[1] == 'behind' then
			id = whole(tonumber(string.sub(id, -16)))
		end
		describe(out, id, ARGV[1], all[i + 1])
	end
	seen = #all / 2
end
out[1] = seen
return out
