-- size.lua: how much memory keys take.
--
-- KEYS[i…]  keys
--
-- Returns  integer  bytes
-- Replay   reads: it changes nothing
local sum = 0
for i = 1, #KEYS do
	sum = sum + (redis.call('memory', 'usage', KEYS[i]) or 0)
end
return sum
