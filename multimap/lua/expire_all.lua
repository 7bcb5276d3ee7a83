-- expire_all.lua: let keys go with the whole multimap, or stay with it.
--
-- Include: done.lua
-- Include: key.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[i…]  values of each key; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   in how many ms the index goes; empty: never
-- ARGV[3]   in how many ms the values go; empty: never
-- ARGV[4]   1: the server keeps the times of keys, too
-- ARGV[5…]  keys
--
-- Returns  integer  1 the time of one was changed, 0 else; not where it has a time of its own
-- Replay   unsafe: somebody else may have changed it in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local left = ARGV[4] == '1' and redis.call('hpttl', KEYS[1], 'FIELDS', #ARGV - 4, unpack(ARGV, 5)) or {}
for i = 5, #ARGV do
	own(ARGV[i], KEYS[i - 2])
end
local changed = expire(KEYS[1], ARGV[2])
expire(KEYS[2], ARGV[2])
for i = 5, #ARGV do
	local did = expire(KEYS[i - 2], sooner(ARGV[3], left[i - 4]))
	if not left[i - 4] or left[i - 4] < 0 then
		changed = math.max(changed, did)
	end
end
return done(changed)
