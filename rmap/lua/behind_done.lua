-- behind_done.lua: drop changes that the store has, or that it will never take.
--
-- KEYS[1]   stream of changes
-- KEYS[2]   which of them is the last of an entry
-- KEYS[3]   stream of those that the store has not taken
-- ARGV[1]   empty; dead: they are kept aside
-- ARGV[2…]  their ids by turns with what names the calls that have made them: another that has such an id now is not dropped
--
-- Returns  integer  how many others there are
-- Replay   safe: what is not there any more is not kept aside again
-- What fails for good does so before anything is written, and no key is touched that was emptied here: see behind.lua.
local last = {}
for i = 2, #ARGV, 2 do
	local one = redis.call('xrange', KEYS[1], ARGV[i], ARGV[i])[1]
	if one and (one[2][6] or '') == ARGV[i + 1] then
		if redis.call('hget', KEYS[2], one[2][2]) == ARGV[i] then
			last[#last + 1] = one[2][2]
		end
		if ARGV[1] == 'dead' then
			redis.call('xadd', KEYS[3], '*', 'id', ARGV[i], unpack(one[2]))
		end
		redis.call('xdel', KEYS[1], ARGV[i])
	end
end
local left = redis.call('xlen', KEYS[1])
if left == 0 then
	redis.call('del', KEYS[1], KEYS[2])
elseif #last > 0 then
	redis.call('hdel', KEYS[2], unpack(last))
end
return left
