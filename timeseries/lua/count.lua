-- count.lua: how many entries of a time series have not expired.
--
-- KEYS[1]  time series
-- KEYS[2]  when its entries end
-- ARGV[1]  the caller's clock, ms
--
-- Returns  integer  how many
-- Replay   reads: it changes nothing
return math.max(0, redis.call('zcard', KEYS[1]) - redis.call('zcount', KEYS[2], '-inf', ARGV[1]))
