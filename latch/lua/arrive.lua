-- arrive.lua: a party arrives at the barrier.
--
-- Include: barrier.lua
-- Include: arrival.lua
-- Include: opens.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms
-- KEYS[4]  arrival of this party: "<its generation> <how many had arrived with it>", or -1
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
-- ARGV[4]  party, fresh for this arrival
-- ARGV[5]  how many parties the barrier has
-- ARGV[6]  lease, ms
-- ARGV[7]  1: if it is the last party, it opens the generation later, by pass.lua; 0: at once
--
-- Returns  array  {generation, -1 one that has left; 0 it waits, 1 opened, 2 broken, 4 it is the last and is to open the generation,
--                 5 it has not arrived, since another is about to open the generation; how many had arrived with this party; ms
--                 until the first lease ends, -1 none}; or {how many parties the barrier has}, if others wait for that
-- Replay   safe: the arrival is known by its party, also when its generation is over
local parties, gen, wrong = barrier()
if wrong then
	return wrong
end
local mine, number = arrival()
local old = {}

-- opener is the party that is to open a generation by pass.lua, nil if none is.
local function opener(of)
	local full, party = string.match(redis.call('hget', KEYS[1], 'acts') or '', '^(%d+) (.*)$')
	return full == of and party or nil
end
local left = first()
if not gen then
	-- The clock numbers the first one, so that a barrier that was forgotten does not use a number again.
	gen = whole(time[1] * 1000000 + time[2])
	old = redis.call('zrange', KEYS[2], 0, -1)
elseif left == 0 then
	gen = over(gen) -- somebody's lease has ended
	old = redis.call('zrange', KEYS[2], 0, -1)
end
if mine then
	if #old > 0 then
		redis.call('del', KEYS[2])
	end
	if mine ~= gen then
		return {tonumber(mine), state(mine, gen), number, -1}
	end
	-- Its lease counts from now, as for the first send.
	redis.call('zadd', KEYS[2], whole(now + ARGV[6]), ARGV[4])
	for _, key in ipairs({KEYS[1], KEYS[2], KEYS[4]}) do
		live(key, ARGV[6] + ARGV[1])
	end
	return {tonumber(mine), opener(gen) == ARGV[4] and 4 or 0, number, first()}
end
local n = 1
if #old == 0 then
	-- One whose arrival was evicted arrives again: it is not to be counted twice.
	n = redis.call('zcard', KEYS[2]) + (redis.call('zscore', KEYS[2], ARGV[4]) and 0 or 1)
end
if parties and n > 1 and parties ~= tonumber(ARGV[5]) then
	return {parties}
end
if #old == 0 and n > tonumber(ARGV[5]) and opener(gen) then
	return {tonumber(gen), 5, 0, first()}
end
local last = n >= tonumber(ARGV[5])
if last and ARGV[7] == '0' then
	redis.call('set', KEYS[4], gen .. ' ' .. whole(n), 'PX', ARGV[1])
	redis.call('hset', KEYS[1], 'parties', ARGV[5])
	opens(gen)
	redis.call('del', KEYS[2])
	return {tonumber(gen), 1, n, -1}
end
redis.call('set', KEYS[4], gen .. ' ' .. whole(n), 'PX', whole(ARGV[6] + ARGV[1]))
redis.call('hset', KEYS[1], 'parties', ARGV[5], 'gen', gen)
if last then
	redis.call('hset', KEYS[1], 'acts', gen .. ' ' .. ARGV[4])
end
redis.call('zadd', KEYS[2], whole(now + ARGV[6]), ARGV[4])
for _, party in ipairs(old) do -- not all at once: a key that goes, and comes, would end the script while its slot moves
	redis.call('zrem', KEYS[2], party)
end
live(KEYS[1], ARGV[6] + ARGV[1])
live(KEYS[2], ARGV[6] + ARGV[1])
return {tonumber(gen), last and 4 or 0, n, first()}
