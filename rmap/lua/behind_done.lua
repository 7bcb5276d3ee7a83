-- behind_done.lua: drop changes that the store has, or that it will never take.
--
-- KEYS[1]   stream of changes
-- KEYS[2]   stream of those that the store has not taken
-- ARGV[1]   empty; dead: they are kept aside
-- ARGV[2…]  their ids
--
-- Returns  integer  how many there were
-- Replay   safe: what is not there any more is not kept aside again
local count = 0
for i = 2, #ARGV do
	local one = redis.call('xrange', KEYS[1], ARGV[i], ARGV[i])[1]
	if one then
		if ARGV[1] == 'dead' then
			redis.call('xadd', KEYS[2], '*', 'id', ARGV[i], unpack(one[2]))
		end
		count = count + redis.call('xdel', KEYS[1], ARGV[i])
	end
end
if redis.call('xlen', KEYS[1]) == 0 then
	redis.call('del', KEYS[1])
end
return count
