-- renew.lua: lengthen the leases of read holds that still stand.
--
-- KEYS[2i-1]  lock hash of the i-th hold
-- KEYS[2i]    the own key of its reader
-- ARGV[2i-1]  owner of the i-th hold
-- ARGV[2i]    lease of the i-th hold, ms
--
-- Returns  array  for each hold 1 renewed; 0 gone; or the text of an error that says neither
-- Replay   safe: leases only grow, and only for an owner that is there
local answers = {}
for i = 1, #KEYS, 2 do
	local name, lease = KEYS[i], tonumber(ARGV[i + 1])
	-- pcall: one bad key must not cost the others of its batch their leases.
	local answer = redis.pcall('hexists', name, ARGV[i])
	if answer == 1 then
		-- Always a write, if of what is there: a server that is full lets the
		-- next one pass behind it.
		answer = redis.pcall('pexpire', name, math.max(redis.call('pttl', name), lease))
	end
	if answer == 1 and redis.call('pttl', KEYS[i + 1]) < lease then
		answer = redis.pcall('set', KEYS[i + 1], 1, 'px', lease) -- it may have been evicted
	end
	if type(answer) == 'table' and answer.err then
		answer = string.find(answer.err, 'WRONGTYPE', 1, true) and 0 or answer.err
	elseif answer ~= 0 then
		answer = 1
	end
	answers[(i + 1) / 2] = answer
end
return answers
