-- redrive.lua: have dead messages tried again, with as many attempts as new ones.
--
-- Include: queue.lua
-- Include: done.lua
-- KEYS[1…19] the parts of the queue, see queue.lua
-- KEYS[20…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    what the channels of those who wait begin with
-- ARGV[3]    publish or spublish
-- ARGV[4]    0: a message that reached nobody proves nothing
-- ARGV[n…]   ids
--
-- Returns  integer  how many were dead and are tried again; one whose unique key another message has by now stays dead
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
local n = 0
for i = 5, #ARGV do
	local id = ARGV[i]
	local _, _, only = options(id)
	if redis.call('zscore', dead, id) and (only == '' or redis.call('hsetnx', unique, only, id) == 1) then
		local attempts = string.match(redis.call('hget', failure, id) or '', '^%d+') or '0'
		redis.call('hset', tries, id, attempts, id .. '+', attempts)
		redis.call('zrem', dead, id)
		enter({id})
		n = n + 1
	end
end
done(n)
wake(math.min(n, 4), ARGV[3], ARGV[4], ARGV[2], 'w')
return n
