-- purge.lua: delete what a group has put aside.
--
-- Include: done.lua
-- KEYS[1]  stream of what was put aside
-- KEYS[2]  what remembers the answer
-- ARGV[1]  how long it is remembered, ms
--
-- Returns  integer  how many entries there were
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
local n = redis.call('xlen', KEYS[1])
redis.call('unlink', KEYS[1])
return done(n)
