-- leave.lua: a party gives up, and breaks its generation for all, unless that is over.
--
-- Include: barrier.lua
-- Include: arrival.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms
-- KEYS[4]  arrival of this party: "<its generation> <how many had arrived with it>", or -1
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
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
if not mine then
	redis.call('set', KEYS[4], '-1', 'PX', ARGV[1]) -- an arrival that comes late waits nowhere
	return {3, 0, 0}
elseif mine == '-1' then
	return {3, 0, 0}
end
if gen and (mine == gen or first() == 0) then
	gen = over(gen)
	local how = state(mine, gen)
	redis.call('del', KEYS[2])
	return {how, number, tonumber(mine)}
end
return {state(mine, gen), number, tonumber(mine)}
