-- ended.lua: which keys have ended, and when the next does.
--
-- KEYS[1]  when keys end
-- ARGV[1]  the caller's clock, ms
-- ARGV[2]  how many at most
--
-- Returns  array  {when the next ends that has not, as text, empty: none does; keys…}
-- Replay   reads: it changes nothing
local due = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local coming = redis.call('zrangebyscore', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return {coming[2] or '', unpack(due)}
