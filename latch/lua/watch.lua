-- watch.lua: how generations of a barrier have ended, if they have. The present one breaks, if somebody's lease is over.
--
-- Include: barrier.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
-- ARGV[n…]  generations
--
-- Returns  array  {ms until the first lease ends, -1 none; of each generation 0 it is the present one, 1 opened, 2 broken}
-- Replay   safe: a generation that is over stays as it ended
local _, gen, wrong = barrier()
if wrong then
	return wrong
end
local answer = {first()}
if gen and answer[1] == 0 then
	gen = over(gen)
	answer[1] = -1
end
for i = 4, #ARGV do
	answer[#answer + 1] = state(ARGV[i], gen)
end
if answer[1] == -1 then
	redis.call('del', KEYS[2])
end
return answer
