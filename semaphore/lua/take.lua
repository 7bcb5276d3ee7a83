-- take.lua: the common case of move.lua: callers who want equally many permits, and each gets them or none.
--
-- Include: alike.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- ARGV[1]  how many each wants
-- ARGV[2]  number of the request
-- ARGV[3]  how long a lane is remembered, ms
-- ARGV[4]  how many want them
--
-- Returns  integer  how many got them; -1: an older request that comes late, and takes nothing
--          nil      there is no such semaphore
-- Replay   safe: the lane knows the request; one that was refused may be decided anew
if known then
	return known
end
local took, k = ARGV[1], ARGV[4]
if free < tonumber(took) then
	return 0
end
if k ~= '1' then
	k = math.min(k, math.floor(free / took))
	took = string.format('%.0f', took * k)
end
redis.call('decrby', KEYS[1], took)
redis.call('set', KEYS[2], ARGV[2] .. ' ' .. took .. ' ' .. k, 'PX', ARGV[3])
return tonumber(k)
