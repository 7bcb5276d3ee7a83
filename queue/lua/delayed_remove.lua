-- delayed_remove.lua: remove elements that wait in a delayed queue, where a walk over them has come to.
--
-- Include: packed.lua
-- KEYS[1]  when they are due, ms: packed elements by time
-- KEYS[2]  packed elements in the order in which they were offered
-- ARGV[1]  where the walk is, as for ZSCAN
-- ARGV[2]  how many to look at
-- ARGV[3]  how many at most
-- ARGV[4]  the element
-- ARGV[5]  how many elements of the list the server walks over, about; one is removed in any case
--
-- Returns  array  {how many were removed, where the walk goes on, 1: it is over}
-- Replay   unsafe: a second run removes others
local got = redis.call('zscan', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local left = redis.call('llen', KEYS[2])
local removed, most = 0, math.min(tonumber(ARGV[3]), math.max(1, math.floor(tonumber(ARGV[5]) / math.max(left, 1))))
for i = 1, #got[2], 2 do
	if payload(got[2][i]) == ARGV[4] then
		if removed == most then
			return {removed, ARGV[1], 0} -- what is left is found from there again
		end
		removed = removed + 1
		if left > 0 then
			left = left - redis.call('lrem', KEYS[2], 1, got[2][i])
		end
		redis.call('zrem', KEYS[1], got[2][i])
	end
end
local over = 0
if got[1] == '0' then
	over = 1
end
return {removed, got[1], over}
