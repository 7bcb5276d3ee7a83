-- remove.lua: take a message out that nobody has ever had, or also one that somebody has.
--
-- Include: info.lua
-- Include: forget.lua
-- Include: remember.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    id
-- ARGV[3]    1: also if somebody has it or had it
-- ARGV[4]    channel on which it is said that somebody has lost it
-- ARGV[5]    publish or spublish
-- ARGV[6]    channel of results
--
-- Runs     lpop rpop publish*
-- Returns  integer  1 it was there, and nobody had it; 2 somebody had it, or has had it; 0 there was none
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end

-- clear takes ids without a message off an end of what is ready, so that they do not heap up where nobody takes.
local function clear(at, pop)
	for _ = 1, 100 do
		local id = redis.call('lindex', ready, at)
		if not id or redis.call('hexists', body, id) == 1 then
			return
		end
		redis.call(pop, ready)
	end
end

local id = ARGV[2]
if redis.call('hexists', body, id) == 0 then
	return done(0)
end
local has, of = held(id)
local taken = has or redis.call('hexists', tries, id) == 1 or redis.call('zscore', dead, id)
if taken and ARGV[3] ~= '1' then
	return done(2)
end
if has then
	local _, _, _, client = parts(of)
	redis.call('zrem', lease, of)
	counted(client, -1)
	-- Who has it may hear of it late, or by a renewal alone, which does not say why: until a minute after the lease it can ask.
	local ends = math.max(tonumber(has), now) + 60000
	remember(1, {id, 'c ' .. of}, {whole(ends), id}, ends - now)
end
redis.call('zrem', due, id)
redis.call('zrem', prio, id)
redis.call('zrem', dead, id)
forget({id})
redis.call('hincrby', meta, 'removed', 1)
redis.pcall(ARGV[5], ARGV[6], id)
if has then
	redis.pcall(ARGV[5], ARGV[4], of)
end
if there(body) then
	clear(0, 'lpop')
	clear(-1, 'rpop')
else
	redis.call('unlink', ready)
end
return done(taken and 2 or 1)
