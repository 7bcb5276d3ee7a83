-- reset.lua: break a generation of a barrier for all, unless it is over.
--
-- Include: barrier.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
-- ARGV[4]  the generation
--
-- Returns  integer  0 it opened; 1 it broke by this; 2 it had broken before
-- Replay   safe: the generation that follows has another number
redis.call('zrem', KEYS[2], '') -- which a full server does not refuse, so that it lets those behind it pass
local _, gen, wrong = barrier()
if wrong then
	return wrong
elseif gen ~= ARGV[4] then
	return state(ARGV[4], gen) == 1 and 0 or 2
end
over(gen)
redis.call('del', KEYS[2])
return 1
