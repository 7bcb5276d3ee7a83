-- group_acquire.lua: take some values of a group of locks, if nobody holds any of them.
--
-- KEYS[1]  group hash, the name itself: a field for each value that is held, and two for its holder
-- KEYS[2]  tombstones: zset of owners that were given back; missing as a rule
-- ARGV[1]  lease, ms
-- ARGV[2]  owner, fresh for this acquisition
-- ARGV[3]  the time of the client, ms, which decides here
-- ARGV[4…]  fields of the values
--
-- Returns  nil      acquired
--          integer  remaining lease of the holder who has the longest, ms; -2: refused by the tombstone
--          error    FAMILY and what else the name is: "lock", "rwlock"
-- Replay   safe: an owner that is there keeps its counts, its lease only grows; one that was given back is refused.
--          What it drops besides has been over for a minute
local lease, own, now = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
if redis.call('exists', KEYS[2]) == 1 and redis.call('zscore', KEYS[2], own) then
	return -2
end
local left = redis.call('pttl', KEYS[1])
if left ~= -2 then
	if redis.call('hexists', KEYS[1], 'mode') == 1 then
		return redis.error_reply('FAMILY rwlock')
	elseif redis.call('hlen', KEYS[1]) == 1 then
		return redis.error_reply('FAMILY lock')
	end
end
local function number(field)
	return tonumber(redis.call('hget', KEYS[1], field) or 0) or 0
end
local wait, past = 0, {}
for i = 4, #ARGV do
	local holder = redis.call('hget', KEYS[1], ARGV[i])
	if holder and holder ~= own then
		wait = math.max(wait, number(ARGV[i] .. ':' .. holder .. ':expire_time') - now)
		past[#past + 1] = ARGV[i] .. ':' .. holder .. ':expire_time'
		past[#past + 1] = ARGV[i] .. ':' .. holder .. ':lock_count'
	end
end
if wait > 0 then
	return wait
end
for i = 4, #ARGV do
	local mine = ARGV[i] .. ':' .. own
	local ends = math.max(number(mine .. ':expire_time'), now + lease)
	redis.call('hset', KEYS[1], ARGV[i], own, mine .. ':expire_time', string.format('%.0f', ends), mine .. ':lock_count', 1)
end
-- Of holders whose time is over: behind the new ones, so that the key never goes.
for i = 1, #past, 1000 do -- as many as can be passed on at once
	redis.call('hdel', KEYS[1], unpack(past, i, math.min(i + 999, #past)))
end
-- Of a few others, drawn by lot, whose time has been over for a minute: nobody may ask
-- for their values again. The minute is for clocks that are ahead.
for _, field in ipairs(redis.call('hrandfield', KEYS[1], 9)) do
	local value, holder = string.match(field, '^([^:]+):(.+):expire_time$')
	if value and number(field) < now - 60000 then
		redis.call('hdel', KEYS[1], field, value .. ':' .. holder .. ':lock_count')
		if redis.call('hget', KEYS[1], value) == holder then
			redis.call('hdel', KEYS[1], value)
		end
	end
end
if left == -2 or (left >= 0 and left <= lease) then
	redis.call('pexpire', KEYS[1], ARGV[1])
end
return nil
