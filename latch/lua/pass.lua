-- pass.lua: the last party to arrive opens its generation, after what it had to do.
--
-- Include: barrier.lua
-- Include: arrival.lua
-- Include: opens.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms
-- KEYS[4]  arrival of this party: "<its generation> <how many had arrived with it>", or -1
-- KEYS[5]  who is inside, of that generation: zset of parties by the end of their leases, ms of the server's clock
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
-- ARGV[4]  lease of those who are inside, ms; 0: nobody is, as it is no double barrier
--
-- Returns  array  {1 its generation opened, 2 it broke, 3 the party never arrived; how many had arrived with it; its generation,
--                 0 if it never arrived}
-- Replay   safe: a generation that is over stays as it ended
redis.call('zrem', KEYS[2], '') -- which a full server does not refuse, so that it lets those behind it pass
local _, gen, wrong = barrier()
if wrong then
	return wrong
end
local mine, number = arrival()
if not mine or mine == '-1' then
	return {3, 0, 0}
elseif mine ~= gen then
	return {state(mine, gen), number, tonumber(mine)}
elseif first() == 0 then
	over(gen) -- somebody's lease has ended
	redis.call('del', KEYS[2])
	return {2, number, tonumber(mine)}
end
if ARGV[4] ~= '0' then
	for _, party in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
		redis.call('zadd', KEYS[5], whole(now + ARGV[4]), party)
	end
	redis.call('pexpire', KEYS[5], whole(ARGV[4] + ARGV[1]))
end
opens(gen)
redis.call('del', KEYS[2])
return {1, number, tonumber(mine)}
