-- drop.lua: remove keys with all their values: those that are given, or those of them that have ended.
--
-- Include: done.lua
-- Include: key.lua
-- Include: write.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[i…]  values of each key; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   list or set
-- ARGV[4]   all or ended
-- ARGV[5…]  keys
--
-- Returns  integer  how many were there, and lived where all are to go
-- Replay   unsafe: a second run finds none; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local n, fields, dropped = 0, {}, {}
for i = 5, #ARGV do
	local field, values, goes = ARGV[i], KEYS[i - 2], true
	if ARGV[4] == 'ended' then
		local ends = redis.call('zscore', KEYS[2], field)
		goes = ends and tonumber(ends) <= tonumber(ARGV[2])
		n = n + (goes and own(field, values) and 1 or 0)
	else
		n = n + (lives(field, ARGV[2], values) and count(ARGV[3], values) > 0 and 1 or 0)
	end
	if goes then
		fields[#fields + 1], dropped[#dropped + 1] = field, values
	end
end
drop(fields, dropped)
return done(n)
