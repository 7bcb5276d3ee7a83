-- remember.lua: what is kept of messages that have ended.
--
-- Needs    queue.lua
-- Defines  remember, if rare
local remember
if rare then
	-- first returns n that end first: those that somebody awaits, see attest.lua, if there are no others among the first ones.
	local function first(n)
		local some, at = {}, 0
		repeat
			local page = redis.call('zrange', finished_until, at, at + 1999)
			for i = 1, #page do
				if #some < n and string.sub(page[i], 1, 1) ~= '=' then
					some[#some + 1] = page[i]
				end
			end
			at = at + 2000
		until #some == n or #page < 2000 or at == 10000
		return #some == n and some or redis.call('zrange', finished_until, 0, n - 1)
	end

	-- remember keeps what is known of n messages that are done or cancelled, of at most 100,000 in all. all has fields and values
	-- of finished, ends scores and members of finished_until. At least one of them is kept for period ms from now.
	function remember(n, all, ends, period)
		for i = 1, 2 * n, 4000 do
			redis.call('hset', finished, unpack(all, i, math.min(i + 3999, 2 * n)))
			redis.call('zadd', finished_until, unpack(ends, i, math.min(i + 3999, 2 * n)))
		end
		local old = redis.call('zrangebyscore', finished_until, '-inf', whole(now), 'LIMIT', 0, n + 200)
		local over = math.min(redis.call('zcard', finished_until) - 100000, n + 200)
		if over > #old then
			old = first(over)
		end
		if #old > 0 then
			redis.call('hdel', finished, unpack(old))
			redis.call('zrem', finished_until, unpack(old))
		end
		if redis.call('pttl', finished) < period then
			redis.call('pexpire', finished, whole(period))
			redis.call('pexpire', finished_until, whole(period))
		end
	end
end
