-- replace.lua: give a key other values, and return those that it had.
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
-- ARGV[5]   its id
-- ARGV[6…]  values; none: the key is removed
--
-- Returns  text  what it had, each with its length before it
-- Replay   unsafe: a second run returns what the first has written; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local alive, there = lives(ARGV[4], ARGV[2], KEYS[3]), all(ARGV[3], KEYS[3])
if #ARGV < 6 then
	drop({ARGV[4]}, {KEYS[3]})
else
	only(ARGV[3], KEYS[3], 6, there)
	if not alive or #there == 0 then
		begin(ARGV[4], ARGV[5], KEYS[3])
	end
end
return done(pack(alive and there or {}))
