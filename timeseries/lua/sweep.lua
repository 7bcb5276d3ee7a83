-- sweep.lua: drop entries of a time series that have expired, a batch at a time and one process of the fleet at a time.
--
-- Include: ids.lua
-- Include: latch.lua
-- KEYS[1]  time series
-- KEYS[2]  when its entries end
-- KEYS[3]  the counter of a newer Redisson
-- KEYS[4]  latch of who sweeps
-- ARGV[1]  who sweeps
-- ARGV[2]  the caller's clock, ms
-- ARGV[3]  how long the latch is the sweeper's, ms
-- ARGV[4]  how many at most
-- ARGV[5]  bytes at most, about
-- ARGV[6]  how far the caller's clock may be ahead of the server's, ms; empty: not looked at
--
-- Returns  array  {how many have gone; 1 if there are more, else 0; when the next is due, as text, empty: none is}
--                 {-1, ms until another's latch ends}
--                 {-2, ms by which the caller's clock is ahead}: nothing was done
-- Replay   safe: what has gone is gone
local ahead = early(ARGV[2], ARGV[6])
if ahead then
	return {-2, ahead}
end
local key, ends = KEYS[1], KEYS[2]
local due = redis.call('zcount', ends, '-inf', ARGV[2])
redis.call('zcard', key) -- a key of another type is refused before anything has changed
if due > 0 then -- and so is what the user may not do: the two keys must not part
	redis.call('zrem', key, '')
	redis.call('zremrangebyrank', ends, 1, 0)
end
local busy = due > 0 and denied(KEYS[4], ARGV[1], ARGV[3])
if busy then
	return {-1, busy}
end
local gone, bytes, count, most, limit = 0, 0, 1, math.min(due, tonumber(ARGV[4])), tonumber(ARGV[5])
while gone < most and bytes < limit do
	local names = redis.call('zrange', ends, 0, math.min(count, most - gone) - 1)
	redis.call('zrem', key, unpack(names))
	redis.call('zremrangebyrank', ends, 0, #names - 1)
	gone = gone + #names
	for _, name in ipairs(names) do
		bytes = bytes + #name
	end
	local like = math.max(1, math.floor((limit - bytes) * gone / math.max(bytes, 1))) -- if the next ones are like these
	count = math.min(4 * count, math.max(8, math.floor(gone / 4)), 64, like)
end
if gone > 0 and redis.call('exists', key) == 0 then
	forget(KEYS[3])
end
local first = redis.call('zrange', ends, 0, 0, 'WITHSCORES')
return {gone, gone < due and 1 or 0, first[2] and first[2] ~= 'inf' and first[2] or ''}
