-- watch.lua: the clients that keep the time.
--
-- Include: trim.lua
-- Include: wake.lua
-- Needs    queue.lua, outset.lua; ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[11]
-- Defines  bound, watch
--
-- Of the clients that wait the keeper looks again at the next moment: a delay or a lease ends then. The deputy looks a little later,
-- should the keeper have died. The others look once in a while. A key of one of the two lasts for half a second longer than it
-- sleeps. A client that knows of a moment 200 ms earlier takes over. So the keeper looks at most 200 ms behind a moment, and the
-- deputy of a dead one 800 ms behind it.

-- bound takes out what there are too many of the dead.
local function bound()
	trim(term(2, 10000), term(3, 2592000000))
end

-- watch returns in how many ms this client looks again. The next moment comes in wait ms. leased says that it
-- is the end of a lease.
local function watch(wait, leased)
	local me, cap = ARGV[6], tonumber(ARGV[11])

	-- mine reports whether this client is to have the key.
	local function mine(key, sleep)
		local who = redis.call('get', key)
		return not who or who == me or redis.call('pttl', key) > sleep + 700
	end

	if mine(keeper, wait) then
		redis.call('set', keeper, me, 'PX', whole(wait + 500))
		bound()
		local who = redis.call('get', deputy)
		if who == me then
			redis.call('del', deputy)
			who = false
		end
		local unseen = wait < cap and leased and (not who or redis.call('pttl', deputy) > wait + 1300)
		if unseen and redis.call('zcard', idle) > 1 then
			wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
		end
		return wait
	end
	local second = math.max(1, math.min(cap, redis.call('pttl', keeper) + 50))
	if mine(deputy, second) then
		redis.call('set', deputy, me, 'PX', whole(second + 500))
		return second
	end
	return cap
end
