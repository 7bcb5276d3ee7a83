-- clear.lua: drop readers whose own keys are all gone, as their leases have ended.
--
-- KEYS[1]     lock hash, the name itself
-- KEYS[2…]    the own keys of the first reader, one for each of its levels, then those of the next …
-- ARGV[1]     channel of releases
-- ARGV[2]     publish or spublish
-- ARGV[2i+1]  owner of the i-th reader
-- ARGV[2i+2]  its levels when they were counted: one that has others now is left alone
--
-- Returns  integer  how many were dropped
-- Replay   safe: a second run finds them gone
if redis.call('hget', KEYS[1], 'mode') ~= 'read' then
	return 0
end
local dead, key = {}, 2
for i = 3, #ARGV, 2 do
	local alive = redis.call('hget', KEYS[1], ARGV[i]) ~= ARGV[i + 1]
	for _ = 1, tonumber(ARGV[i + 1]) do
		alive = alive or redis.call('exists', KEYS[key]) == 1
		key = key + 1
	end
	if not alive then
		table.insert(dead, ARGV[i])
	end
end
for _, owner in ipairs(dead) do
	redis.call('hdel', KEYS[1], owner)
end
if #dead > 0 and redis.call('hlen', KEYS[1]) == 1 then
	redis.call('del', KEYS[1])
	redis.pcall(ARGV[2], ARGV[1], '0')
end
return #dead
