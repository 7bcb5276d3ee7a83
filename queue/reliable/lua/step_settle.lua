-- step_settle.lua: the consumer settles what it is done with.
--
-- Include: nack.lua
-- Needs    outset.lua, agreed.lua; ARGV[4], ARGV[14], ARGV[18] and what follows; KEYS[23] and what follows
-- Defines  settled   the answers, behind an "="
local settled, ids, members = {'='}, {}, {}
if acks == 1 then
	local held = leaves(ARGV[19])
	settled[2] = held and '1' or missing(ARGV[19])
	if held then
		ids[1], members[1] = ARGV[20], ARGV[19]
	end
elseif acks > 1 then
	local scores, n = redis.call('zmscore', lease, unpack(ARGV, 19, 18 + acks)), 0
	for i = 1, acks do
		local member = ARGV[18 + i]
		if scores[i] then
			n = n + 1
			ids[n], members[n] = ARGV[18 + acks + i], member
		end
		settled[i + 1] = scores[i] and '1' or missing(member)
	end
	local left = redis.call('zrem', lease, unpack(ARGV, 19, 18 + acks))
	if n > 0 then -- all are of one client: a token settles with a nack
		local _, _, _, of = parts(members[n])
		had[of] = left
	end
end
for i = 1, results do
	local at = results_at + 3 * i
	local member, period, result = ARGV[at - 2], ARGV[at - 1], ARGV[at]
	local id = parts(member)
	local held = leaves(member)
	settled[#settled + 1] = held and '1' or missing(member)
	if held then
		ids[#ids + 1], members[#members + 1] = id, member
		redis.call('set', KEYS[22 + i], result, 'PX', period)
	end
end
if #ids > 0 then
	redis.pcall(ARGV[4], ARGV[14], table.concat(ids, ' '))
	if keeps_done then
		keep(ids, members)
	end
	if plain then
		redis.call('hdel', body, unpack(ids))
	else
		forget(ids, 'a')
	end
	acked = acked + #ids
end
for i = nacks_at + 1, nacks_at + 3 * nacks, 3 do
	settled[#settled + 1] = nack(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
end
