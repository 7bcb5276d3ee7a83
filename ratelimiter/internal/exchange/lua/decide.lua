-- decide.lua: any number of requests, in the order of their arrival, on one bucket or on several at once.
--
-- Include: state.lua
-- Include: bucket.lua
-- KEYS[i]  state of bucket i
-- ARGV[1…] for each bucket eight numbers: generation of the rule; generation of its last reset, or -1 if it is adopted by
--          a state of a newer rule, too; ticks gained per unit of
--          time; ticks per token; ticks when full; unit of time, µs; the most ticks of debt; ticks to give back first.
--          Then for each run of equal requests: how many there are; how long one may wait, µs, or -1 if it is not to
--          wait and may go into debt, or -2 if it takes what is there but only if nobody before it was refused; and
--          for each bucket the ticks that one takes
--
-- Returns  array  {-1} a bucket's state is of a newer rule: nothing was done
--          array  {server time now, then for each bucket ticks missing afterwards, t and when its block ends or 0, then
--                 for each run how many requests are granted}
-- Replay   once: a second run takes again
local FIELDS = 8
local count = #KEYS

-- up is the first multiple of the unit at or after x.
local function up(x, unit)
	return x + (unit - x % unit) % unit
end

local function min(x, y)
	return x < y and x or y
end

-- adopt converts a state that another rule left. Whole tokens that are missing stay missing, up to the burst, and the
-- fraction of one counts as one. Time before the rule was set refills nothing. Rules that travel with the call may take
-- turns on one key, so among them debt stays, too; so does that of a rule which may have been the same and have gone
-- meanwhile. It is nil if the state's rule is the newer one.
local function adopt(b, g, w, f)
	local theirs, mine = g, b.g
	if mine > 0 and theirs > mine and b.reset >= 0 then
		return nil
	end
	if mine > 0 and theirs > 0 and theirs < b.reset then
		b.t = b.now
		return 0
	end
	if mine > 0 and theirs > 0 and b.t < mine then
		b.t = mine
	end
	b.t = up(b.t, b.u)
	if f > 0 then
		w = w + 1
	end
	local most = b.k / b.c
	if mine < 0 or theirs < 0 or b.reset == 0 then
		most = math.floor((9007199254740991 - b.a) / b.c) - 1
	end
	return min(w, most) * b.c
end

local function fill(b, to)
	if b.t < to then
		b.q = later(b.q, b.t, to, b.u, b.a)
		b.t = to
	end
end

-- open is bucket i as of now, or nil if its rule is newer.
local function open(i)
	local at = (i - 1) * FIELDS
	local b = {
		g = tonumber(ARGV[at + 1]), reset = tonumber(ARGV[at + 2]), a = tonumber(ARGV[at + 3]), c = tonumber(ARGV[at + 4]),
		k = tonumber(ARGV[at + 5]), u = tonumber(ARGV[at + 6]), debt = tonumber(ARGV[at + 7]), q = 0, block = 0,
	}
	b.now = now - now % b.u
	b.t = b.now
	local state = redis.call('GET', KEYS[i])
	if state then
		local g, t, w, f, block = load(state)
		if not g then
			return nil, redis.error_reply('WRONGTYPE this is not the state of a rate limiter')
		end
		b.t = t
		if block > now then
			b.block = up(block, b.u)
		end
		if g == b.g then
			b.q = w * b.c + f
		else
			b.q = adopt(b, g, w, f)
			if not b.q then
				return nil
			end
			-- A refusal keeps it, too, or the key would expire as the old rule said. Not among rules that take turns: each turn
			-- rounds up.
			b.changed = g > 0 and b.g > 0
		end
	end
	-- A refusal keeps this, too: unwritten, nothing would refill until the clock has caught up.
	local t = known(b.t, now, b.now, b.q > b.k, b.block)
	if t ~= b.t then
		b.t, b.changed = t, true
	end
	fill(b, b.now)
	local credit = tonumber(ARGV[at + 8])
	if credit > 0 and b.q > 0 then
		b.q = b.q > credit and b.q - credit or 0
		b.changed = true
	end
	return b
end

local buckets = {}
for i = 1, count do
	local b, err = open(i)
	if err then
		return err
	elseif not b then
		return {-1}
	end
	buckets[i] = b
end

-- most is how many requests of a run bucket b alone could grant. Under a block that means from its end on.
local function most(b, wait, cost)
	if wait < 0 then
		return math.floor((b.k + b.debt - b.q) / cost)
	end
	if cost > b.k or b.block > now + wait then
		return 0
	end
	local q, from = b.q, b.t
	if from < b.block then
		q, from = later(q, from, b.block, b.u, b.a), b.block
	end
	local left = now + wait - from
	local ahead = left > 0 and min(math.floor(left / b.u) * b.a, b.debt) or 0
	return math.floor((b.k + ahead - q) / cost)
end

-- single is whether one request that takes what is there or nothing is granted: most and serve for the common case, at a
-- fifth of the time. Where requests have many sizes, each is a run.
local costs = {}
local function single(at)
	for i = 1, count do
		local b, cost = buckets[i], tonumber(ARGV[at + i])
		if b.block > 0 or b.q + cost > b.k then
			return 0
		end
		costs[i] = cost
	end
	for i = 1, count do
		local b = buckets[i]
		b.q = b.q + costs[i]
		b.changed = true
	end
	return 1
end

-- serve is how many requests of a run are granted.
local function serve(at, n, wait)
	for i = 1, count do
		n = min(n, most(buckets[i], wait, tonumber(ARGV[at + i])))
	end
	if n <= 0 then
		return 0
	end
	for i = 1, count do
		local b = buckets[i]
		if wait >= 0 then
			fill(b, b.block)
		end
		b.q = b.q + n * ARGV[at + i]
		b.changed = true
	end
	return n
end

local granted, runs, refused = {}, 0, false
for at = count * FIELDS + 1, #ARGV, count + 2 do
	local asked, wait, n = ARGV[at], ARGV[at + 1]
	if asked == '1' and wait == '0' then
		n = single(at + 1)
		refused = refused or n == 0
	elseif wait == '-2' then
		n = serve(at + 1, refused and 0 or tonumber(asked), 0)
	else
		n = serve(at + 1, tonumber(asked), tonumber(wait))
		refused = refused or n < tonumber(asked)
	end
	runs = runs + 1
	granted[runs] = n
end

local reply, at = {now}, 1
for i = 1, count do
	local b = buckets[i]
	if b.changed then
		save(KEYS[i], now, b.g, b.t, b.q, b.block, b.a, b.c, b.u)
	end
	reply[at + 1], reply[at + 2], reply[at + 3] = b.q, b.t, b.block > b.now and b.block or 0
	at = at + 3
end
for i = 1, runs do
	reply[at + i] = granted[i]
end
return reply
