-- leases.lua: permits that are held, by the end of their leases in the server's time.

-- never is the score of a permit that has no end, which Java may hold.
local never = 922337203685477

-- clock is the server's time, ms.
local function clock()
	local time = redis.call('time')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function whole(n)
	return string.format('%.0f', n)
end

-- no_leases is the error for a key that holds something else, nil if reply is no such error.
local function no_leases(key, reply)
	if type(reply) ~= 'table' or not reply.err or not string.find(reply.err, 'WRONGTYPE', 1, true) then
		return nil
	end
	local kind = redis.call('type', key)
	return redis.error_reply('WRONGTYPE the key ' .. key .. ' holds a ' .. (kind.ok or kind) .. ', not leases of permits')
end

-- first is how long it is until the first lease ends, ms; -1: none does.
local function first(leases, now)
	local one = redis.call('zrangebyscore', leases, '(' .. whole(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
	local ends = tonumber(one[2])
	if not ends or ends >= never then
		return -1
	end
	return math.max(1, math.ceil(ends - now))
end

-- unheld is how many of n permits nobody holds; or nil and an error.
local function unheld(n, leases, now)
	local held = redis.pcall('zcard', leases)
	if type(held) == 'table' then
		return nil, no_leases(leases, held) or held
	end
	return n - held + redis.call('zcount', leases, 0, whole(now))
end

-- follow has leases live for as long as the number of permits.
local function follow(permits, leases)
	local left = redis.call('pttl', permits)
	if left >= 0 then
		redis.call('pexpire', leases, math.max(1, left)) -- 0: in this very millisecond
	else
		redis.call('persist', leases)
	end
end
