-- remove.lua: remove a value of a key, of a list the first that is equal.
--
-- Include: done.lua
-- Include: key.lua
-- Include: write.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[3]   values of the key
-- KEYS[4…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   list or set
-- ARGV[4]   key
-- ARGV[5]   value
--
-- Returns  integer  1 it was removed, 0 there is none
-- Replay   once: a second run finds another, or none; with an id it is safe
local was, answer = known()
if was then
	return answer
end
if not lives(ARGV[4], ARGV[2], KEYS[3]) then
	return done(0)
end
local there, gone = count(ARGV[3], KEYS[3]), nil
if ARGV[3] == 'list' then
	gone = redis.call('lrem', KEYS[3], 1, ARGV[5])
else
	gone = redis.call('srem', KEYS[3], ARGV[5])
end
if there == gone then
	redis.call('hdel', KEYS[1], ARGV[4])
	redis.call('zrem', KEYS[2], ARGV[4])
end
return done(gone)
