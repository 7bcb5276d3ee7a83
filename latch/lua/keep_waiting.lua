-- keep_waiting.lua: the part of keep.lua that is about who waits, for when the slot moves and the keys are apart.
--
-- KEYS[i]     who waits: zset of parties by the end of their leases, ms of the server's clock
-- ARGV[3i-2]  the i-th party
-- ARGV[3i-1]  its lease, ms
-- ARGV[3i]    how much longer than the lease the key stays, ms
--
-- Returns  array  for each party 1 renewed; 0 gone; or the text of an error that says neither
-- Replay   safe: a lease only grows, and only for a party that is there
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i, key in ipairs(KEYS) do
	local party, lease, more = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
	redis.pcall('zrem', key, '')
	local score = redis.pcall('zscore', key, party)
	if type(score) == 'table' then
		answers[i] = string.find(score.err, 'WRONGTYPE', 1, true) and 0 or score.err
	elseif not score or tonumber(score) <= now then
		answers[i] = 0
	else
		if tonumber(score) < now + lease then
			redis.call('zadd', key, string.format('%.0f', now + lease), party)
		end
		if redis.call('pttl', key) < lease + more then
			redis.call('pexpire', key, string.format('%.0f', lease + more))
		end
		answers[i] = 1
	end
end
return answers
