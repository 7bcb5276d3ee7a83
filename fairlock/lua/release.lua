-- release.lua: give back a hold, to the front of the queue if that is a waiter of the same process.
-- Include: queue.lua
-- Include: token.lua
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  queue
-- KEYS[3]  deadlines
-- KEYS[4]  processes of ours that are alive
-- KEYS[5…]  counter of fencing tokens, if the candidates want one
-- ARGV[1]  owner
-- ARGV[2]  publish or spublish
-- ARGV[3]  what it proves that nobody hears: 0 nothing, 1 that nobody is there, 2 that of one that was heard where the slot is
-- ARGV[4]  channel of releases, to Redisson's waiters
-- ARGV[5]  channel of turns, to ours
-- ARGV[6]  how long a process is alive, ms
-- ARGV[7…]  with a counter, the highest token that the client has seen, 0 if none; then the waiters of this process
--           that take the lock: owner, lease in ms
--
-- Returns  integer  how many heard that it is their turn; -1: this owner does not hold the lock
--          array    {the waiter that holds it now, its fencing token or 0, 1 if by this call, 0 if it had it before}
-- Replay   safe: the owner is fresh, so a second run finds it gone, and a waiter that has the lock by the first one
local own = ARGV[1]
me, slots = client(own), ARGV[3] ~= '1'

local first = KEYS[5] and 8 or 7 -- of the waiters

local function lease(waiter)
	for i = first, #ARGV, 2 do
		if ARGV[i] == waiter then
			return ARGV[i + 1]
		end
	end
end

-- A counter that is none grants nothing, and keeps nobody from going.
local was, bad = 0, nil
if KEYS[5] and #ARGV >= first then
	was, bad = known(KEYS[5])
end

local function token()
	return KEYS[5] and raise(KEYS[5], was, 1, ARGV[7]) or 0
end

local h = behind(ARGV[6])
if not h and call('hdel', N, own) == 1 then
	return 0
end
if call('hexists', N, own) == 0 then
	local holder = call('hkeys', N)[1]
	local wanted = holder and lease(holder)
	if not wanted or bad then
		return -1
	end
	if call('pttl', N) <= tonumber(wanted) then
		call('pexpire', N, wanted)
	end
	return {holder, was > 0 and was or token(), 0}
end
local wanted = not bad and lease(h)
if wanted then
	-- First a write that a full server does not refuse. The new field before the
	-- old one goes: a hash that loses its last field is gone.
	call('pexpire', N, wanted)
	call('hset', N, h, 1)
	call('hdel', N, own)
	if not drop(h) then
		call('pexpire', A, memory) -- those who tried may have had it longer
	end
	return {h, token(), 1}
end
call('hdel', N, own)
return math.max(0, (tell(h, ARGV[2], ARGV[3], ARGV[4], ARGV[5])))
