-- list.lua: some of the messages in a state.
--
-- Include: info.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- ARGV[1]    ready, delayed, running, behind or dead
-- ARGV[2]    how many are passed over
-- ARGV[3]    how many are looked at
--
-- Returns  array  {how many were looked at, 1: there may be more, then of each id, state, attempts, when, cause, options, delivery, owner, progress, body}
-- Replay   reads: it changes nothing
if later_queue() then
	return later_queue()
end
local from, to = tonumber(ARGV[2]), ARGV[2] + ARGV[3] - 1
local out, seen, room = {0, 0}, 0, 1048576

-- shown describes a message, unless there is no room for its body: the first one always fits.
local function shown(id, when, of)
	room = room - redis.call('hstrlen', body, id)
	if room < 0 and seen > 0 then
		return false
	end
	seen = seen + 1
	describe(out, id, ARGV[1], when, of)
	return true
end

if ARGV[1] == 'ready' then
	local ahead = redis.call('zcard', prio)
	local ids = redis.call('zrange', prio, from, to)
	if to >= ahead then
		for _, id in ipairs(redis.call('lrange', ready, math.max(0, from - ahead), to - ahead)) do
			ids[#ids + 1] = id
		end
	end
	for i = 1, #ids do
		if not shown(ids[i], '0') then
			break
		end
	end
else
	local of = {delayed = due, running = lease, behind = order, dead = dead}
	local all = redis.call('zrange', of[ARGV[1]], from, to, 'WITHSCORES')
	for i = 1, #all, 2 do
		local id, leased = all[i], nil
		if ARGV[1] == 'running' then
			leased = id
			id = parts(leased)
		elseif ARGV[1] == 'behind' then
			id = whole(tonumber(string.sub(id, -16)))
		end
		if not shown(id, all[i + 1], leased) then
			break
		end
	end
end
out[1], out[2] = seen, (room < 0 or seen == tonumber(ARGV[3])) and 1 or 0
return out
