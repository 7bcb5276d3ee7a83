-- redrive.lua: have dead messages tried again, with as many attempts as new ones.
--
-- Include: queue.lua
-- Include: enter.lua
-- Include: wake.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    what the channels of those who wait begin with
-- ARGV[3]    publish or spublish
-- ARGV[4]    0: a message that reached nobody proves nothing
-- ARGV[n…]   ids; or all, the moment until which they were buried, ms, "": now, and how many of these are passed over
--
-- Returns  integer  how many were dead and are tried again; one whose unique key another message has by now stays dead
--          text     of all: how many of a thousand, how many were looked at, and the moment
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end
local n, ids, moment = 0, {unpack(ARGV, 5)}, nil
if ARGV[5] == 'all' then
	local last = tonumber(redis.call('zrange', dead, -1, -1, 'WITHSCORES')[2] or 0) -- above now: a handler of the dead may have it then
	moment = ARGV[6] == '' and whole(math.max(now, last)) or ARGV[6]
	ids = redis.call('zrangebyscore', dead, '-inf', moment, 'LIMIT', ARGV[7], 1000)
end
for _, id in ipairs(ids) do
	local _, _, only = options(id)
	if redis.call('zscore', dead, id) and (only == '' or redis.call('hsetnx', unique, only, id) == 1) then
		local attempts = string.match(redis.call('hget', failure, id) or '', '^%d+') or '0'
		redis.call('hset', tries, id, attempts, id .. '+', attempts)
		redis.call('zrem', dead, id)
		enter({id})
		n = n + 1
	end
end
wake(math.min(n, 4), ARGV[3], ARGV[4], ARGV[2], 'w')
return done(moment and table.concat({n, #ids, moment}, ' ') or n)
