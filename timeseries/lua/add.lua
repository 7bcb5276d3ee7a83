-- add.lua: add entries to a time series.
--
-- KEYS[1]   time series
-- KEYS[2]   when its entries end
-- ARGV[1]   when they end, ms
-- ARGV[2]   1: that is for ever, and they end after all others, so that Redisson's own order is that of the adds; 0: it is not
-- ARGV[i…]  for each entry its time, and the entry
--
-- Returns  integer  how many there were
-- Replay   once: a second run brings back what was removed in between
local key, ends, at = KEYS[1], KEYS[2], ARGV[1]
local fresh, last = redis.call('zcard', key) == 0, redis.call('zrange', ends, -1, -1, 'WITHSCORES')
if ARGV[2] == '1' then
	at = tonumber(at)
	if last[2] and last[2] ~= 'inf' and not fresh and tonumber(last[2]) < 9e15 then
		at = math.max(at, tonumber(last[2]))
	end
	at = string.format('%.0f', at + 1)
end
local names, pairs, left = {}, {}, redis.call('pttl', key)
for i = 4, #ARGV, 2 do
	names[#names + 1] = ARGV[i]
	pairs[#pairs + 1] = at
	pairs[#pairs + 1] = ARGV[i]
end
redis.call('zadd', key, unpack(ARGV, 3))
local done = fresh and last[1] and redis.pcall('unlink', ends) -- ends of entries that somebody has deleted without them
if type(done) ~= 'table' then
	done = redis.pcall('zadd', ends, unpack(pairs))
end
if type(done) == 'table' then -- the user may not
	redis.call('zrem', key, unpack(names))
	return done
end
if left > 0 and not last[1] then -- it is a new key
	redis.pcall('pexpire', ends, left)
end
return #names
