-- keep.lua: say that a process which waits is alive, keep its waiters' places, and see whose turn it is.
-- Include: queue.lua
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  queue
-- KEYS[3]  deadlines
-- KEYS[4]  processes of ours that are alive
-- KEYS[5]  tombstones
-- KEYS[6]  idle: a front of Redisson's that was told in vain, and since when
-- ARGV[1]  client
-- ARGV[2]  how long a process is alive, ms
-- ARGV[3]  slack of a deadline, ms
-- ARGV[4]  publish or spublish
-- ARGV[5]  what it proves that nobody hears: 0 nothing, 1 that nobody is there, 2 that of one that was heard where the slot is
-- ARGV[6]  channel of releases, to Redisson's waiters
-- ARGV[7]  channel of turns, to ours
-- ARGV[8]  1 if this client listens on its channel of turns, else 0
-- ARGV[9]  0; 1 to write all deadlines of this client anew, and count its places; 2 to list them as well
-- ARGV[10]  what the server's clock said when this was asked, as far as the process knows, ms
-- ARGV[11…]  waiters that have lost their places, in order: they come back at the front
--
-- Returns  {remaining lease of the holder in ms, -1: it has none, -2: nobody holds it;
--           the owner of this client that holds the lock or whose turn it is, or "";
--           ms until somebody may be passed over, -1: nobody;
--           how many places this client has, -1: not counted, or it came too late to bring anybody back;
--           the server's clock, ms; then each place, if asked for}
-- Replay   safe: what it writes depends on the state alone
me, slots = ARGV[1], ARGV[5] ~= '1'
local alive, slack = tonumber(ARGV[2]), tonumber(ARGV[3])

-- How long a front of Redisson's is told in vain before it counts as gone.
local patience = 900

-- How long a keep may be on its way. One that was longer has waited for a server
-- that stood still: others could say as little, and what it says of itself was so then.
local late = now() - ARGV[10] >= 250

-- First a write that a full server does not refuse.
call('pexpire', A, memory)
if late or elsewhere() then
	census(alive)
else
	attend(alive)
end
quiet = false -- this one has said something
local listens = ARGV[8] == '1'
if slots then -- what it knows may be of the server that had the slot
	listens = ARGV[5] == '2' and heard(ARGV[7] .. ':' .. me)
end
say(me, alive, listens and not late and '' or '.5')
call('pexpire', A, memory)

local function bring_back(places)
	for i = #ARGV, 11, -1 do
		local own = ARGV[i]
		if not places[own] and call('hexists', N, own) == 0 and not call('zscore', KEYS[5], own) then
			call('lpush', Q, own)
			call('zadd', T, ms(now() + slack), own)
		end
	end
end

-- A front of Redisson's that nobody hears of while the lock is free: gone, if
-- that lasts.
local function vain(h)
	local told, since = string.match(call('get', KEYS[6]) or '', '^(.*) (%d+)$')
	if told ~= h or tonumber(since) > now() then
		call('set', KEYS[6], h .. ' ' .. ms(now()), 'px', 5000)
		return patience
	end
	return since + patience - now()
end

-- Tells the front, and passes over those that have gone.
local function turn(h)
	local reached
	while true do
		if not h or client(h) == me then
			return h or '', -1
		end
		reached, h = tell(h, ARGV[4], ARGV[5], ARGV[6], ARGV[7])
		if not h then
			return '', -1
		end
		if client(h) == me then
			return h, -1
		end
		if client(h) then
			return '', tonumber(call('zscore', A, client(h)) or now()) - now()
		end
		if reached ~= 0 or ARGV[5] == '0' then
			call('del', KEYS[6])
			return '', -1
		end
		local rest = vain(h)
		if rest > 0 then
			return '', rest
		end
		call('del', KEYS[6])
		h = living(drop(h))
	end
end

-- Forgets the processes that have gone, except those in the queue: without its mark
-- of a quarter the next census would take one for alive.
local function forget(queued)
	for _, c in ipairs(call('zrange', A, '-inf', ms(now()), 'byscore')) do
		if not queued[c] then
			call('zrem', A, c)
		end
	end
end

local function walk(places)
	local found, java, queued = 0, 0, {}
	for _, own in ipairs(call('lrange', Q, 0, -1)) do
		local c = client(own)
		queued[c or ''] = true
		if not c then
			java = java + 1
		elseif c == me then
			found = found + 1
			places[own] = true
			call('zadd', T, ms(now() + slack + java * 300000), own)
		end
	end
	forget(queued)
	return found
end

front(alive) -- whoever is dead there counts for nobody's deadline
local found, places = -1, {}
if ARGV[9] ~= '0' or #ARGV > 10 then
	found = walk(places)
	if not late then
		bring_back(places)
	elseif #ARGV > 10 then
		found = -1 -- they may have had the lock meanwhile, and gone: an earlier copy may have brought them back
	end
end
local left, who, soon = call('pttl', N), '', -1
if left == -2 then
	who, soon = turn(front(alive))
else
	local holder = call('hkeys', N)[1]
	who = client(holder) == me and holder or ''
end
local reply = {left, who, math.floor(soon), found, now()}
if ARGV[9] == '2' then
	for own in pairs(places) do
		reply[#reply + 1] = own
	end
end
return reply
