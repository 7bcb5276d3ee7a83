-- step_count.lua: what was taken is leased, what has happened is counted, and the lane remembers the request.
--
-- Needs    step_settle.lua, step_take.lua; ARGV[1], ARGV[2]
-- Defines  limited   whether no further message may be in flight
if got > 8 then
	-- A member that is too long for a small set makes a large one, which is searched more quickly from some twenty members on.
	local long = string.rep('.', 65)
	redis.call('zadd', lease, ends, long, unpack(leases))
	redis.call('zrem', lease, long)
elseif got > 0 then
	redis.call('zadd', lease, unpack(leases))
end
local limited = flight > 0 and redis.call('zcard', lease) >= flight

local counters = {}
if acked > 0 then
	counters = {'acked', whole((acked_before or 0) + acked)}
end
if got > 0 then
	local n = #counters
	counters[n + 1], counters[n + 2] = 'delivery', delivery
	if format ~= '2' then
		counters[n + 3], counters[n + 4] = 'format', '2'
	end
	had[client] = (had[client] or 0) - got
end
if #counters > 0 then
	redis.call('hset', meta, unpack(counters))
end
for of, n in pairs(had) do
	counted(of, -n)
end
local answers = table.concat(settled)
out[2], out[4] = string.sub(answers, 2), table.concat(took, ' ')
redis.call('set', lane, table.concat({ARGV[1], answers, out[3], out[4]}, ' '), 'PX', ARGV[2])
