-- expire.lua: let all keys of a queue go at the same time, or stay.
--
-- KEYS[i…]  each key of the queue
-- ARGV[1]   in how many ms; empty: never
--
-- Returns  integer  1 there is such a queue, and its time was changed, 0 else
-- Replay   unsafe: somebody else may have changed it in between
local changed = 0
for i = 1, #KEYS do
	local did
	if ARGV[1] == '' then
		did = redis.call('persist', KEYS[i])
	else
		did = redis.call('pexpire', KEYS[i], ARGV[1])
	end
	changed = math.max(changed, did)
end
return changed
