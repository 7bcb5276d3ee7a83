-- step.lua: a consumer's whole exchange: it settles what it is done with, and takes what it wants. The parts run in this order.
--
-- Include: queue.lua
-- Include: again.lua
-- Include: outset.lua
-- Include: agreed.lua
-- Include: step_settle.lua
-- Include: ripe.lua
-- Include: step_take.lua
-- Include: step_count.lua
-- Include: step_wake.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  where the results of acks are kept, one of each; the last key is the lane of the consumer
-- ARGV[1]    number of the request
-- ARGV[2]    how long a lane is remembered, ms
-- ARGV[3]    what the channels of those who wait begin with
-- ARGV[4]    publish or spublish
-- ARGV[5]    0: a message that reached nobody proves nothing
-- ARGV[6]    the consumer
-- ARGV[7]    how many messages it wants
-- ARGV[8]    for how long, ms
-- ARGV[9]    the terms that the consumer takes for those of the queue
-- ARGV[10]   the terms that the consumer was given
-- ARGV[11]   how long nobody is to look again, at most, ms
-- ARGV[12]   w: it waits, if it gets less than it wants, and hears; l: it waits no more; -: neither
-- ARGV[13]   1: it has not been told the terms yet, so it takes nothing where one of those that it was given differs
-- ARGV[14]   channel on which the ends of messages are told: their ids, those of the acks of a step together
-- ARGV[15]   1: whoever wants a message begins with it at once
-- ARGV[16]   who the consumer is: client, pid, host
-- ARGV[17]   d: it takes messages that are dead, the oldest first, and is not registered as one that waits;
--            f: of four messages one is of the priorities in turn; else -
-- ARGV[n…]   how many acks without a result; their members of lease; their ids;
--            how many acks with a result; of each member, how long the result is kept, ms, the result;
--            how many nacks; of each member, delay, cause. A delay of -1 gives back what nobody has seen, -3 what
--            somebody has, after so many ms as the cause says, -2 buries, -4 keeps it: its handler is about to begin, -5 is the backoff of the
--            terms, and -6 an ack of what another client may have taken. Of a message that was taken from the dead a delay
--            of 0 or more is a redrive, and -2 and -5 leave it dead, for a handler of the dead to have again after the backoff
--
-- Returns  array  {ms until it is to look again, of each ack and nack 1, 0 for what it has no more, c if that is since it was
--                 cancelled, b if it was buried, or p if its handler must not begin, since the queue is paused;
--                 ":delivery:client" of what it takes, p if the queue is paused, or -; of each message id:attempt, of a first attempt the id alone;
--                 "", or = and the terms of the queue, if they are not those that the consumer has named, or ! and the
--                 terms, if they are refused: nothing was taken then; ? of a repeated request; then the bodies of the messages};
--                 {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request, what it settled and what it took

-- The parts have settled and taken. The consumer waits for the rest.
if role == 'w' then
	redis.call('zremrangebyscore', idle, '-inf', whole(now - 60000))
	redis.call('zadd', idle, whole(now), me)
	redis.call('pexpire', idle, 60000)
end
if more or open and there(ready, prio) then
	out[1] = 0
	return out
end
local delayed = not plain and redis.call('zrange', due, 0, 0, 'WITHSCORES')[2]
local leased = redis.call('zrange', lease, 0, 0, 'WITHSCORES')[2]
local moment = math.min(tonumber(delayed or math.huge), tonumber(leased or math.huge))
if paused then
	local left = redis.call('pttl', pause)
	moment = math.min(moment, left >= 0 and now + left + 1 or math.huge)
end
if moment == math.huge then
	return out
end
local wait = math.max(0, math.min(cap, moment - now))
out[1] = wait
if role ~= 'w' then
	return out
end

-- Of the clients that wait the keeper looks again at the next moment: a delay or a lease ends then. The deputy looks a little later,
-- should the keeper have died. The others look once in a while. A key of one of the two lasts for half a second longer than it
-- sleeps. A client that knows of a moment 200 ms earlier takes over. So the keeper looks at most 200 ms behind a moment, and the
-- deputy of a dead one 800 ms behind it.

-- mine reports whether this client is to have the key.
local function mine(key, sleep)
	local who = redis.call('get', key)
	return not who or who == me or redis.call('pttl', key) > sleep + 700
end

if mine(keeper, wait) then
	redis.call('set', keeper, me, 'PX', whole(wait + 500))
	trim()
	local who = redis.call('get', deputy)
	if who == me then
		redis.call('del', deputy)
		who = false
	end
	local runs_out = leased and tonumber(leased) == moment -- a lease ends then
	local unseen = wait < cap and runs_out and (not who or redis.call('pttl', deputy) > wait + 1300)
	if unseen and redis.call('zcard', idle) > 1 then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
	return out
end
local second = math.max(1, math.min(cap, redis.call('pttl', keeper) + 50))
out[1] = cap
if mine(deputy, second) then
	redis.call('set', deputy, me, 'PX', whole(second + 500))
	out[1] = second
end
return out
