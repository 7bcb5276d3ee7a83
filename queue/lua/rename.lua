-- rename.lua: rename the keys of a queue, over what is there.
--
-- KEYS[i…]  each key of the queue and its new name behind it
--
-- Returns  integer  1 it was done, 0 there is no such queue, and nothing was changed
-- Replay   unsafe: a second run finds nothing
local there = 0
for i = 1, #KEYS, 2 do
	there = math.max(there, redis.call('exists', KEYS[i]))
end
if there == 0 then
	return 0
end
for i = 1, #KEYS, 2 do
	if redis.call('exists', KEYS[i]) == 1 then
		redis.call('rename', KEYS[i], KEYS[i + 1])
	else
		redis.call('del', KEYS[i + 1])
	end
end
return 1
