-- waiting.lua: how many parties wait at a barrier.
--
-- Include: barrier.lua
-- KEYS[1]  barrier: hash of parties, gen (the present generation)
-- KEYS[2]  who waits: zset of parties by the end of their leases, ms of the server's clock
-- KEYS[3]  generations that opened: zset by when, ms
-- ARGV[1]  how long what is over is remembered, ms
-- ARGV[2]  channel of generations that ended
-- ARGV[3]  publish or spublish
--
-- Returns  array  {the present generation, 0 if there is none; how many parties wait whose leases have not ended}
-- Replay   reads: it changes nothing
local _, gen, wrong = barrier()
if wrong then
	return wrong
end
return {tonumber(gen or '0'), redis.call('zcount', KEYS[2], '(' .. whole(now), '+inf')}
