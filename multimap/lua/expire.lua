-- expire.lua: have a key end with its values.
--
-- Include: done.lua
-- Include: key.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[3]   values of the key
-- KEYS[4…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   list or set
-- ARGV[4]   key
-- ARGV[5]   in how many ms; empty: never
-- ARGV[6]   1: the server keeps the time
--
-- Returns  integer  1 there is such a key, 0 there is none
-- Replay   once: somebody else may have changed it in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
if not lives(ARGV[4], ARGV[2], KEYS[3]) or count(ARGV[3], KEYS[3]) == 0 then
	return done(0)
end
if ARGV[6] ~= '1' then
	if ARGV[5] == '' then
		redis.call('zrem', KEYS[2], ARGV[4])
	else
		redis.call('zadd', KEYS[2], string.format('%.0f', tonumber(ARGV[2]) + tonumber(ARGV[5])), ARGV[4])
		local left = redis.call('pttl', KEYS[1])
		if left > 0 then
			redis.call('pexpire', KEYS[2], left)
		end
	end
else
	if ARGV[5] == '' then
		redis.call('hpersist', KEYS[1], 'FIELDS', 1, ARGV[4])
	else
		redis.call('hpexpire', KEYS[1], ARGV[5], 'FIELDS', 1, ARGV[4])
	end
	expire(KEYS[3], sooner(ARGV[5], redis.call('pttl', KEYS[1])))
end
return done(1)
