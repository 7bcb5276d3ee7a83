-- group_inspect.lua: who holds some values of a group. A script, since commands that only read may be routed to a
-- replica.
--
-- KEYS[1]  group hash, the name itself
-- ARGV[1…]  fields of the values
--
-- Returns  array  for each value that has one its holder, the end of the lease in ms by the clock of its client, and
--                 its levels, as three texts
-- Replay   reads: it changes nothing
local holders = {}
for _, field in ipairs(ARGV) do
	local owner = redis.call('hget', KEYS[1], field)
	if owner then
		local rest = redis.call('hmget', KEYS[1], field .. ':' .. owner .. ':expire_time', field .. ':' .. owner .. ':lock_count')
		holders[#holders + 1] = owner
		holders[#holders + 1] = rest[1] or '0'
		holders[#holders + 1] = rest[2] or '0'
	end
end
return holders
