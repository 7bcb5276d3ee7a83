-- behind_done.lua: drop changes that the store has, or that it will never take.
--
-- Include: dead.lua
-- KEYS[1]   stream of changes
-- KEYS[2]   which of them is the last of an entry
-- KEYS[3]   stream of those that the store has not taken
-- KEYS[4]   which of those is the last of an entry, as long as the store has nothing newer
-- ARGV[1]   empty: the store has them; else how many of those that it has not taken are kept aside, with these
-- ARGV[2]   why it has not
-- ARGV[3…]  their ids by turns with what names the calls that have made them: another that has such an id now is not dropped
--
-- Returns  integer  how many others there are
-- Replay   safe: what is not there any more is not kept aside again
-- What fails for good does so before anything is written, and no key is touched that was emptied here: see behind.lua.
local buried = redis.call('hlen', KEYS[4]) > 0
local last, stored = {}, {}
for i = 3, #ARGV, 2 do
	local one = redis.call('xrange', KEYS[1], ARGV[i], ARGV[i])[1]
	if one and (one[2][6] or '') == ARGV[i + 1] then
		if redis.call('hget', KEYS[2], one[2][2]) == ARGV[i] then
			last[#last + 1] = one[2][2]
		end
		if ARGV[1] ~= '' then
			bury(KEYS[3], KEYS[4], one[2], ARGV[i], ARGV[2])
		else
			stored[#stored + 1] = one[2][2]
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
if ARGV[1] ~= '' then
	bound(KEYS[3], KEYS[4], tonumber(ARGV[1]))
elseif buried and #stored > 0 then
	redis.call('hdel', KEYS[4], unpack(stored))
end
return left
