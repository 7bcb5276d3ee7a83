-- has.lua: whether a key has a value.
--
-- Include: key.lua
-- KEYS[1]  index
-- KEYS[2]  when keys end
-- KEYS[3]  values of the key
-- ARGV[1]  the caller's clock, ms
-- ARGV[2]  list or set
-- ARGV[3]  key
-- ARGV[4]  value
--
-- Returns  integer  1 it has, 0 it has not
-- Replay   reads: it changes nothing
if not lives(ARGV[3], ARGV[1], KEYS[3]) then
	return 0
elseif ARGV[2] == 'list' then
	return redis.call('lpos', KEYS[3], ARGV[4]) and 1 or 0
end
return redis.call('sismember', KEYS[3], ARGV[4])
