-- keep.lua: lengthen the leases of parties that wait.
--
-- KEYS[3i-2]  barrier of the i-th party: hash of parties, gen
-- KEYS[3i-1]  who waits there: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3i]    arrival of the i-th party: its generation, and how many had arrived with it
-- ARGV[3i-2]  the i-th party
-- ARGV[3i-1]  its lease, ms
-- ARGV[3i]    how much longer than the lease the keys stay, ms
--
-- Returns  array  for each party 1 renewed, or its generation is over; 0 gone; or the text of an error that says neither
-- Replay   safe: a lease only grows, and only for a party that is there
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i = 1, #KEYS, 3 do
	-- pcall: one bad key must not cost the others of its batch their leases.
	local gen, mine = redis.pcall('hget', KEYS[i], 'gen'), redis.pcall('get', KEYS[i + 2])
	local wrong = type(gen) == 'table' and gen or type(mine) == 'table' and mine
	local n = (i + 2) / 3
	if wrong then
		answers[n] = string.find(wrong.err, 'WRONGTYPE', 1, true) and 0 or wrong.err
	elseif not mine or not gen then
		answers[n] = 0
	elseif string.match(mine, '^%-?%d+') ~= gen then
		answers[n] = 1 -- a look tells how it ended
	else
		local score = tonumber(redis.call('zscore', KEYS[i + 1], ARGV[i]) or '0')
		if score <= now then
			answers[n] = 0
		else
			redis.call('zrem', KEYS[i + 1], '') -- which a full server does not refuse, so that it lets those behind it pass
			if score < now + ARGV[i + 1] then
				redis.call('zadd', KEYS[i + 1], string.format('%.0f', now + ARGV[i + 1]), ARGV[i])
			end
			for k = i, i + 2 do
				local stays = ARGV[i + 1] + ARGV[i + 2]
				if redis.call('pttl', KEYS[k]) < stays then
					redis.call('pexpire', KEYS[k], string.format('%.0f', stays))
				end
			end
			answers[n] = 1
		end
	end
end
return answers
