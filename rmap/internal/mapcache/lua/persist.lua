-- persist.lua: let the whole cache stay.
--
-- Include: done.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  accesses
-- KEYS[5]  options
-- KEYS[6…]  what remembers the answer, of a request with an id
-- ARGV[1]  how long it is remembered, ms; 0 without an id
--
-- Returns  integer  1; 0: there is no such cache, or it stays anyway
-- Replay   unsafe: a second run finds that it stays
local was, answer = known()
if was then
	return answer
end
local did = 0
for i = 1, 5 do
	did = math.max(did, redis.call('persist', KEYS[i]))
	if i > 1 and i < 5 then
		local at = redis.call('zscore', KEYS[i], 'redisson__expiretag')
		if at and tonumber(at) > 9e15 then -- else an entry has that name
			redis.call('zrem', KEYS[i], 'redisson__expiretag')
		end
	end
end
return done(did)
