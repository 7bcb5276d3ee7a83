-- change.lua: have a message that waits come at another time, or with another priority.
--
-- Include: info.lua
-- Include: put.lua
-- Include: enter.lua
-- Include: wake.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    id
-- ARGV[3]    the priority, "": it stays, and the time is changed
-- ARGV[4]    in so many ms
-- ARGV[5]    or at that moment, ms since 1970; both 0: now
-- ARGV[6]    what the channels of those who wait begin with
-- ARGV[7]    publish or spublish
-- ARGV[8]    0: a message that reached nobody proves nothing
--
-- Returns  integer  1 it was changed, 0 there is none, 2 somebody has it, 3 it is dead
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end
local id = ARGV[2]
if redis.call('hexists', body, id) == 0 then
	return done(0)
elseif redis.call('zscore', dead, id) then
	return done(3)
end
local priority, _, _, group = options(id)
local delayed = redis.call('zscore', due, id)
local member = behind(group, id)
local waits = group ~= '' and redis.call('zscore', order, member)

-- leaves_ready takes the message out of what is ready. It is true if it was there.
local function leaves_ready()
	if priority > 0 then
		return redis.call('zrem', prio, id) == 1
	end
	return redis.call('lrem', ready, 1, id) == 1
end

if ARGV[3] ~= '' then
	local text = optioned and redis.call('hget', opt, id)
	local there_it_is = not delayed and not waits and leaves_ready()
	text = text and string.gsub(text, '^%d+', ARGV[3]) or ARGV[3] .. '|0|0|'
	if text == '0|0|0|' then
		redis.call('hdel', opt, id)
	else
		redis.call('hset', opt, id, text)
		optioned = true
	end
	if there_it_is then
		put(id, false)
		wake(1, ARGV[7], ARGV[8], ARGV[6], 'w')
	end
	return done(1)
end

local moment = math.max(tonumber(ARGV[5]), ARGV[4] == '0' and 0 or now + ARGV[4])
if not delayed and not waits and held(id) then
	return done(2)
end
if moment <= now then
	if delayed then
		redis.call('zrem', due, id)
		enter({id})
		wake(1, ARGV[7], ARGV[8], ARGV[6], 'w')
	end
	return done(1)
end
if waits then
	redis.call('zrem', order, member) -- it joins its group again when its time has come
elseif not delayed then
	leaves_ready()
end
redis.call('zadd', due, whole(moment), id)
if redis.call('zrange', due, 0, 0)[1] == id then
	sooner(ARGV[7], ARGV[8], ARGV[6])
end
return done(1)
