-- expire_entries.lua: give living entries another end, or none.
--
-- Include: entry.lua
-- Include: tell.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish; see tell.lua
-- ARGV[4]   when they end, ms; empty: never
-- ARGV[5]   NX: those that have no end; GT: those that end earlier; LT: those that end later, or never; empty: all. Of those
--           that are to have none, it is those that have one
-- ARGV[6…]  keys
--
-- Returns  integer  how many were changed
-- Replay   unsafe: somebody else may have changed them in between; with an id it changes nothing
local was, answer = known()
if was then
	return answer
end
changing()
local n = 0
for i = 6, #ARGV do
	local ends = live(ARGV[i]) and (redis.call('zscore', KEYS[2], ARGV[i]) or 'never')
	if ends and ARGV[4] == '' then
		n = n + redis.call('zrem', KEYS[2], ARGV[i])
	elseif ends and (ARGV[5] == '' or ARGV[5] == 'NX' and ends == 'never'
		or ARGV[5] == 'GT' and ends ~= 'never' and tonumber(ends) < tonumber(ARGV[4])
		or ARGV[5] == 'LT' and (ends == 'never' or tonumber(ends) > tonumber(ARGV[4]))) then
		redis.call('zadd', KEYS[2], ARGV[4], ARGV[i])
		n = n + 1
	end
end
return done(n)
