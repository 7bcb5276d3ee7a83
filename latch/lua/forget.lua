-- forget.lua: delete a barrier, which breaks its present generation for all.
--
-- Include: barrier.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms. It stays: parties of one that opened may not have looked yet
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
-- ARGV[4]  the generation
--
-- Returns  integer  0 there is no barrier; 1 it was deleted; 2 the generation is over, and the barrier was not deleted; 3 there
--                   is another generation, of this barrier or of a new one
-- Replay   safe: the generation that follows has another number
local _, gen, wrong = barrier()
if wrong then
	return wrong
elseif not gen then
	return 0
elseif gen ~= ARGV[4] then
	-- The first generation of a new barrier has the number of its time, so the one that follows is of the same barrier.
	return (state(ARGV[4], gen) == 1 or gen == whole(ARGV[4] + 1)) and 2 or 3
end
redis.call('del', KEYS[1], KEYS[2])
-- pcall: an ACL that denies the channel must not keep the barrier from its end.
redis.pcall(ARGV[3], ARGV[2], gen)
return 1
