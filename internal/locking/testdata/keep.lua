-- keep.lua: lengthen the leases of keys that still stand.
--
-- KEYS[i]  the i-th key
-- ARGV[i]  its lease, ms
--
-- Returns  array  for each key 1 renewed; 0 gone
-- Replay   safe: a lease only grows
local answers = {}
for i, key in ipairs(KEYS) do
	answers[i] = redis.call('exists', key)
	if redis.call('pttl', key) < tonumber(ARGV[i]) then
		redis.call('pexpire', key, ARGV[i])
	end
end
return answers
