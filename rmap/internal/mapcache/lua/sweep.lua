-- sweep.lua: drop entries that have expired, a batch at a time and one process of the fleet at a time. An entry whose
-- header names no idle time is none of the idle times' business, whoever left it there.
--
-- Include: bound.lua
-- Include: latch.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  accesses
-- KEYS[5]  options
-- KEYS[6]  latch of who sweeps
-- ARGV[1]  who sweeps
-- ARGV[2]  the caller's clock, ms
-- ARGV[3]  publish or spublish
-- ARGV[4]  how long the latch is the sweeper's, ms
-- ARGV[5]  how many at most
-- ARGV[6]  1: that nobody heard an event of this proves nothing
-- ARGV[7]  how far the caller's clock may be ahead of the server's, ms; empty: not looked at
--
-- Returns  array  {how many have gone; 1 if there may be more, else 0; when the next is due, as text, empty: none is;
--                 1 if the cache is too large or 2 if its order is not complete, else 0; 1 if who listens is told, else 0}
--                 {-1, ms until another's latch ends}
--                 {-2, ms by which the caller's clock is ahead}: nothing was done
-- Replay   safe: what has gone is gone
local ahead = early(ARGV[2], ARGV[7])
if ahead then
	return {-2, ahead}
end
local busy = denied(KEYS[6], ARGV[1], ARGV[4])
if busy then
	return {-1, busy}
end

local batch, bytes, gone = tonumber(ARGV[5]), 0, 0

-- hears reports whether somebody may hear an event. Reading a large entry for it takes the server some ms. A server that
-- does not say so, or not of others, may have listeners.
local function hears()
	local of = 'redisson_map_cache_expired' .. string.sub(KEYS[2], prefix)
	local listeners
	if publish == 'spublish' then
		listeners = redis.pcall('pubsub', 'shardnumsub', of)
	else
		listeners = redis.pcall('pubsub', 'numsub', of)
	end
	local patterns = redis.pcall('pubsub', 'numpat')
	local replicas = redis.pcall('info', 'replication') -- they may have listeners, too
	return ARGV[6] == '1' or type(listeners[2]) ~= 'number' or listeners[2] > 0 or patterns ~= 0
		or type(replicas) ~= 'string' or not string.find(replicas, 'connected_slaves:0', 1, true)
end

local heard = true

-- read is an entry of the batch, whose values must not take long.
local function read(name)
	local packed = redis.call('hget', KEYS[1], name)
	bytes = bytes + (packed and #packed or 0)
	return packed
end

local function tellOf(name, packed)
	heard = tell('expired', name, packed) > 0 or ARGV[6] == '1'
end

-- Most caches have one kind of time, and no bound.
local rests, accesses = redis.call('exists', KEYS[3]) == 1, redis.call('exists', KEYS[4]) == 1

-- drop drops entries that one set has shown to be over, from all but that: it comes last, as what is only missing there
-- would stay for ever.
local function drop(names, other)
	if other then
		redis.call('zrem', other, unpack(names))
	end
	if accesses then
		redis.call('zrem', KEYS[4], unpack(names))
	end
	if weighed then
		weigh(-weights(names))
	end
	return redis.call('hdel', KEYS[1], unpack(names))
end

local due = redis.call('zrangebyscore', KEYS[2], '-inf', ARGV[2], 'LIMIT', 0, batch)
local taken = #due
if taken > 0 then
	dropping(due) -- before an event that nobody takes back
	heard = redis.call('hstrlen', KEYS[1], due[1]) < 65536 or hears()
	for i, name in ipairs(due) do
		local packed = heard and bytes < 262144 and read(name)
		if packed then
			tellOf(name, packed)
		elseif heard and bytes >= 262144 then
			due, taken = {unpack(due, 1, i - 1)}, batch
			break
		end
	end
	gone = drop(due, rests and KEYS[3])
	redis.call('zremrangebyrank', KEYS[2], 0, #due - 1)
end

local resting = rests and taken < batch and redis.call('zrangebyscore', KEYS[3], '-inf', ARGV[2], 'LIMIT', 0, batch - taken) or {}
if #resting > 0 then
	local ended, values, seen = {}, {}, 0
	for _, name in ipairs(resting) do
		if bytes >= 262144 then
			taken = batch
			break
		end
		seen = seen + 1
		local packed = read(name)
		if packed and idle(packed) > 0 then
			ended[#ended + 1] = name
			values[#ended] = packed
		end
	end
	dropping(ended)
	for i, name in ipairs(ended) do
		if heard then
			tellOf(name, values[i])
		end
	end
	if #ended > 0 then
		gone = gone + drop(ended, KEYS[2])
	end
	redis.call('zremrangebyrank', KEYS[3], 0, seen - 1)
end

local coming = ''
for i = 2, 3 do
	local first = redis.call('zrange', KEYS[i], 0, 0, 'WITHSCORES')
	if first[2] and tonumber(first[2]) < 9e15 and (coming == '' or tonumber(first[2]) < tonumber(coming)) then
		coming = first[2]
	end
end
-- What is counted follows what the sample says: at once where that is of all, else slowly, as samples differ.
if weighed then
	local there, names = redis.call('hlen', KEYS[1]), redis.call('hrandfield', KEYS[1], 100)
	local says = #names > 0 and weights(names) / #names * there or 0
	weigh((says - weight) / (#names == there and 1 or 16))
end
local order = 0
if bounded then
	local there = redis.call('hlen', KEYS[1])
	if redis.call('zcard', KEYS[4]) - (redis.call('zscore', KEYS[4], tag) and 1 or 0) < there then
		order = 2
	elseif there > most or weight > heaviest then
		order = 1
	end
end
return {gone, taken + #resting >= batch and 1 or 0, coming, order, told and 1 or 0}
