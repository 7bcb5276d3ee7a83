-- delete.lua: delete all keys of a map under a request id.
--
-- Include: done.lua
-- KEYS[i…]  each key of the map; what remembers the answer
-- ARGV[1]   how long it is remembered, ms
--
-- Returns  integer  how many keys there were
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
return done(redis.call('unlink', unpack(KEYS, 1, #KEYS - 1)))
