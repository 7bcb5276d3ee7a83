-- pop.lua: remove the first or the last members of a sorted set.
--
-- Include: entries.lua
-- KEYS[1]  set
-- ARGV[1]  1: those with the highest scores, 0: those with the lowest
-- ARGV[2]  how many at most
-- ARGV[3]  bytes at most, about
--
-- Returns  array  {members, each followed by its score; how many are left}
-- Replay   unsafe: what it removed is in the answer alone
local back = ARGV[1] == '1'
local found, n = entries(KEYS[1], back, 0, tonumber(ARGV[2]), tonumber(ARGV[3]))
if n > 0 then
	redis.call('zremrangebyrank', KEYS[1], back and -n or 0, back and -1 or n - 1)
end
return {found, redis.call('zcard', KEYS[1])}
