-- renew.lua: lengthen the leases of holds that still stand.
--
-- KEYS[i]     lock hash of the i-th hold
-- ARGV[2i-1]  owner of the i-th hold
-- ARGV[2i]    lease of the i-th hold, ms
--
-- Returns  array  for each hold 1 renewed; 0 gone; or the text of an error that says neither
-- Replay   safe: a lease only grows, and only for an owner that is there
local answers = {}
for i, key in ipairs(KEYS) do
	-- pcall: one bad key must not cost the others of its batch their leases.
	local held = redis.pcall('hexists', key, ARGV[2 * i - 1])
	if held == 1 then
		-- Always a write: WAIT behind a script that wrote nothing confirms nothing.
		redis.call('pexpire', key, string.format('%.0f', math.max(redis.call('pttl', key), tonumber(ARGV[2 * i]))))
		answers[i] = 1
	elseif held == 0 then
		answers[i] = 0
	else
		answers[i] = string.find(held.err, 'WRONGTYPE', 1, true) and 0 or held.err
	end
end
return answers
