-- permit_delete.lua: forget the permits, those that are held included.
--
-- Include: lane.lua
-- Include: refuse.lua
-- Include: permits.lua
-- Include: leases.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  leases: zset of the ids that are held, score = end of the lease, ms
-- KEYS[4]  labels: hash of ids; missing where nobody sets any
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
--
-- Returns  array  {1} done, {0} there were none; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, also one that changed nothing, if the server is not full
local answer = known()
if answer then
	return answer
end
local there, wrong = free()
if wrong then
	return wrong
end
local held = redis.pcall('zcard', KEYS[3])
if type(held) == 'table' then
	return no_leases(KEYS[3], held) or held
end
if not there and held == 0 then
	return refuse()
end
redis.call('pexpire', KEYS[2], ARGV[2]) -- which a full server does not refuse, so that it lets those behind it pass
remember(0, {1})
redis.call('del', KEYS[1], KEYS[3], KEYS[4])
return {1}
