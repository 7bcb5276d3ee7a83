-- copy.lua: copy the keys of a map, if nothing has the new name.
--
-- Include: done.lua
-- Include: whole.lua
-- KEYS[i…]  each key of the map and that of the copy behind it; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   how many keys the map has
-- ARGV[3…]  the command, the channel, and what is published there about the new name, where near caches are told
--
-- Returns  integer  1 it was done, 0 there is no such map, or something has the new name, and nothing was changed
-- Replay   unsafe: a second run finds the copy; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local last = 2 * tonumber(ARGV[2])
if redis.call('exists', KEYS[1]) == 0 or not free(last, 0) then
	return done(0)
end
if ARGV[3] then
	redis.call(ARGV[3], ARGV[4], ARGV[5])
end
double(last)
return done(1)
