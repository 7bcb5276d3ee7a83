-- group_renew.lua: lengthen the leases of holds of groups that still stand.
--
-- KEYS[i]  group hash of the i-th hold
-- ARGV[1…]  for each hold its owner, its lease in ms, the time of the client in ms, how many fields, and these
--
-- Returns  array  for each hold 1 renewed; 0 gone, if only for one of its values; or the text of an error that says neither
-- Replay   safe: a lease only grows, and only for an owner that is there
local function renew(key, at)
	local own, lease, ends, n = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 1] + ARGV[at + 2], tonumber(ARGV[at + 3])
	for i = at + 4, at + 3 + n do
		if redis.call('hget', key, ARGV[i]) ~= own then
			return 0
		end
	end
	-- First a write that a full server does not refuse: it lets those behind it pass.
	redis.call('pexpire', key, string.format('%.0f', math.max(lease, redis.call('pttl', key))))
	for i = at + 4, at + 3 + n do
		local field = ARGV[i] .. ':' .. own .. ':expire_time'
		if (tonumber(redis.call('hget', key, field) or 0) or 0) < ends then
			redis.call('hset', key, field, string.format('%.0f', ends))
		end
	end
	return 1
end
local answers, at = {}, 1
for i, key in ipairs(KEYS) do
	-- pcall: one bad key must not cost the others of its batch their leases.
	local there = redis.pcall('hlen', key)
	if type(there) == 'number' then
		answers[i] = renew(key, at)
	else
		answers[i] = string.find(there.err, 'WRONGTYPE', 1, true) and 0 or there.err
	end
	at = at + 4 + tonumber(ARGV[at + 3])
end
return answers
