-- permit_acquire.lua: the common case of permit_exchange.lua: one caller takes a permit, or gets none. It has no
-- functions, since making one costs the server more than what it does.
--
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  leases: zset of the ids that are held, score = end of the lease, ms
-- KEYS[3]  tombstones: zset of ids that were given back; missing as a rule
-- ARGV[1]  id, 16 bytes, fresh for this acquisition
-- ARGV[2]  lease, ms
-- ARGV[3]  channel of given permits
-- ARGV[4]  publish or spublish
--
-- Returns  integer  0 taken; above 0: refused, and the first lease ends in so many ms; -1: refused, and none ends;
--                   -2: refused by the tombstone
--          nil      there is no such semaphore
-- Replay   safe: an id that is there keeps its permit, its lease only grows; one that was given back is refused
local text = redis.pcall('get', KEYS[1])
if not text then
	return nil
end
-- What INCRBY would refuse is refused before anything is written.
if type(text) ~= 'string' or text ~= '0' and not string.match(text, '^%-?[1-9]%d*$') or #text > 16 then
	local kind = redis.call('type', KEYS[1])
	kind = type(text) == 'string' and 'string that is no integer' or kind.ok or kind
	return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a number of permits')
end
local was = tonumber(text)
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = string.format('%.0f', now + ARGV[2])
if redis.call('exists', KEYS[3]) == 1 and redis.call('zscore', KEYS[3], ARGV[1]) then
	return -2
end
local new, dead = nil, 0
if was >= 1 then
	new = redis.pcall('zadd', KEYS[2], 'GT', ends, ARGV[1])
else
	-- Dead permits are taken in when they are needed: until then they harm nobody.
	local until_now = string.format('%.0f', now)
	new = redis.pcall('zcount', KEYS[2], 0, until_now)
	if type(new) == 'number' then
		dead = new
		if was + dead < 1 and not redis.call('zscore', KEYS[2], ARGV[1]) then
			local first = redis.call('zrangebyscore', KEYS[2], '(' .. until_now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
			local left = tonumber(first[2])
			-- 922337203685477 is the score of a permit that has no end, which Java may hold.
			return left and left < 922337203685477 and math.max(1, math.ceil(left - now)) or -1
		end
		-- The new one first: of a slot on the move, a set that was empty for a moment could not come back.
		new = redis.call('zadd', KEYS[2], 'GT', ends, ARGV[1])
		if dead > 0 then
			dead = redis.call('zremrangebyscore', KEYS[2], 0, until_now)
		end
	end
end
if type(new) == 'table' then
	if not string.find(new.err, 'WRONGTYPE', 1, true) then
		return new
	end
	local kind = redis.call('type', KEYS[2])
	return redis.error_reply('WRONGTYPE the key ' .. KEYS[2] .. ' holds a ' .. (kind.ok or kind) .. ', not leases of permits')
end
-- By 0, too: who waits until replicas have it needs a write.
local free = redis.call('incrby', KEYS[1], dead - new)
-- Leases live for as long as the number.
local left = redis.call('pttl', KEYS[1])
if left >= 0 then
	redis.call('pexpire', KEYS[2], math.max(1, left)) -- 0: in this very millisecond
else
	redis.call('persist', KEYS[2])
end
if dead > 0 and free > 0 then
	-- pcall: an ACL that denies the channel must not fail an acquire.
	redis.pcall(ARGV[4], ARGV[3], string.format('%.0f', free))
end
return 0
