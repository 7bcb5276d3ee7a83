-- acquire.lua: take the lock, if it is free and nobody alive is ahead, or queue for it.
-- Include: queue.lua
-- Include: token.lua
--
-- KEYS[1]  lock hash, the name itself: field = owner, value = hold count
-- KEYS[2]  queue: list of owners, the next one first
-- KEYS[3]  deadlines: zset of the queued owners, ms; Redisson drops a front whose deadline has passed
-- KEYS[4]  processes of ours that are alive: zset client -> until, ms
-- KEYS[5]  tombstones: zset of owners that were given back; missing as a rule
-- KEYS[6…]  counter of fencing tokens, if the caller wants one
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
-- ARGV[3]  0 do not queue; 1 queue; 2 it was queued before, and keeps its place
-- ARGV[4]  how long a process is alive, ms
-- ARGV[5]  slack of a deadline, ms
-- ARGV[6…]  with a counter, the highest token that the client has seen, 0 if none; then, where slots move: what it
--           proves that nobody hears, as in release.lua; channel of turns, to this process
--
-- Returns  integer  acquired; the fencing token, or 0
--          array    {remaining lease of the present holder in ms, -1: it has none, -2: nobody holds it, or refused by
--                   the tombstone; 1 if a waiter or the holder is Redisson's, which tells us on its own channel, else 0;
--                   the server's clock, ms}
--          error    FAMILY and what else the name is: "rwlock", "group"; or that the counter is none
-- Replay   safe: an owner that is there keeps its count, its lease only grows; one that is queued keeps its place; one that was given back is refused
local own = ARGV[2]
local more = KEYS[6] and 7 or 6 -- where slots move, from here on
me, slots = client(own), #ARGV >= more

-- Before anything is written: a hold without a number would stand for a lease.
local was = 0
if KEYS[6] then
	local number, bad = known(KEYS[6])
	if bad then
		return redis.error_reply(bad)
	end
	was = number
end

local function token()
	return KEYS[6] and raise(KEYS[6], was, 1, ARGV[6]) or 0
end

-- The place at the tail, and the deadline: behind one of Redisson's, whose
-- grant takes 300 s off every deadline, it is later by so much.
local function line()
	local tail, deadline = call('lindex', Q, -1), now() + ARGV[5]
	if tail then
		local last = tonumber(call('zscore', T, tail) or 0)
		deadline = client(tail) and math.max(deadline, last) or math.max(now() + 300000, last) + ARGV[5]
	end
	call('rpush', Q, own)
	return deadline
end

-- Whoever was queued before and has no place any more was the front when it
-- was dropped, and is it again. It may also have lost its deadline only.
local again = ARGV[3] == '2'
local function back()
	if again and not call('zscore', T, own) and not call('lpos', Q, own) then
		call('zcard', A) -- or WRONGTYPE, before anything is written
		call('lpush', Q, own)
		return own
	end
end

-- It listens before it queues, if it has not said otherwise; where slots move, the
-- server is asked about one of which it knows nothing, and that listens where the
-- others tell it.
local function listens()
	if ARGV[more] == '0' then
		return false
	elseif not slots or call('zscore', A, me) then
		return hears(me)
	end
	quiet = elsewhere() or quiet
	return heard(ARGV[more + 1])
end

local function queue()
	local deadline = tonumber(call('zscore', T, own) or nil)
	if not deadline then
		call('zcard', A) -- or WRONGTYPE, before anything is written
		deadline = again and now() + ARGV[5] or line()
		call('zadd', T, ms(deadline), own)
		local mark = listens() and '' or '.5'
		if quiet then
			census(ARGV[4]) -- for what this one says now is no reason to take the others for dead
		end
		say(me, ARGV[4], mark)
		call('pexpire', A, memory)
	end
	return deadline > now() + ARGV[5]
end

if call('exists', N, Q, KEYS[5]) > 0 then
	local left, field = call('pttl', N), call('hmget', N, own, 'mode')
	if field[1] then
		-- <=, so that a replay in the same millisecond writes too: a WAIT behind a
		-- script that wrote nothing answers at once.
		if left <= tonumber(ARGV[1]) then
			call('pexpire', N, ARGV[1])
		end
		return was > 0 and was or token() -- nobody else raises it meanwhile, but it may have been evicted
	end
	if field[2] then
		return redis.error_reply('FAMILY rwlock')
	end
	if left ~= -2 and call('hlen', N) > 1 then
		return redis.error_reply('FAMILY group')
	end
	if call('zscore', KEYS[5], own) then
		return {-2, 0, now()}
	end
	if ARGV[3] == '0' then
		memory = 172800000
	end
	local h = front(ARGV[4], own)
	h = back() or h
	if left ~= -2 or h and h ~= own then
		if ARGV[3] == '0' then
			return {left, 0, now()}
		end
		local java = queue() or left ~= -2 and not client(call('hkeys', N)[1])
		return {left, java and 1 or 0, now()}
	end
	if h then
		if not drop(own) then
			call('pexpire', A, memory) -- those who tried may have had it longer
		end
	elseif ARGV[3] == '0' then
		call('del', A) -- of nobody's concern any more
	end
end
call('hset', N, own, 1)
call('pexpire', N, ARGV[1])
return token()
