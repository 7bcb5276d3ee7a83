-- put.lua: add values to a key.
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
-- ARGV[6…]  values
--
-- Returns  integer  how many were not there before
-- Replay   once: a second run adds to a list again, and finds them in a set; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local fresh = not lives(ARGV[4], ARGV[2], KEYS[3]) or count(ARGV[3], KEYS[3]) == 0
if not fresh then
	return done(add(ARGV[3], KEYS[3], 6))
end
local n = only(ARGV[3], KEYS[3], 6, all(ARGV[3], KEYS[3]))
begin(ARGV[4], ARGV[5], KEYS[3])
return done(n)
