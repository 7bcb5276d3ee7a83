-- rename.lua: rename the keys of a map, over what is there, or if nothing is.
--
-- Include: done.lua
-- Include: whole.lua
-- KEYS[i…]  each key of the map and its new name behind it; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   how many keys the map has
-- ARGV[3]   1: only if nothing has the new name
-- ARGV[4…]  the command, and channels with what is published there about both names, where near caches are told
--
-- Returns  integer  1 it was done, 0 there is no such map, and nothing was changed
-- Replay   unsafe: a second run finds nothing; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local last = 2 * tonumber(ARGV[2])
if redis.call('exists', KEYS[1]) == 0 or ARGV[3] == '1' and not free(last, 0) then
	return done(0)
end
for i = 5, #ARGV, 2 do
	redis.call(ARGV[4], ARGV[i], ARGV[i + 1])
end
move(last)
return done(1)
