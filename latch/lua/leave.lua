-- leave.lua: a party gives up, and breaks its generation for all, unless that is over.
--
-- Include: barrier.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms
-- KEYS[4]  arrival of this party: its generation
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
--
-- Returns  integer  1 its generation opened, 2 it broke, or the party never arrived
-- Replay   safe: a generation that is over stays as it ended
redis.call('zrem', KEYS[2], '') -- which a full server does not refuse, so that it lets those behind it pass
local _, gen, wrong = barrier()
if wrong then
	return wrong
end
local mine = redis.call('get', KEYS[4])
if not mine then
	redis.call('set', KEYS[4], '-1', 'PX', ARGV[1]) -- an arrival that comes late waits nowhere
	return 2
end
if gen and (mine == gen or first() == 0) then
	gen = over(gen)
	local how = state(mine, gen)
	redis.call('del', KEYS[2])
	return how
end
return state(mine, gen)
