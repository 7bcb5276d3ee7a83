-- leases.lua: how long readers' own keys stand.
--
-- KEYS[i]  the i-th key
--
-- Returns  array  for each key its time to live, ms; -1: it has none; -2: it is gone
-- Replay   reads: it changes nothing
local left = {}
for i, key in ipairs(KEYS) do
	left[i] = redis.call('pttl', key)
end
return left
