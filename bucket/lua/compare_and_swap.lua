-- compare_and_swap.lua: write a value if what is there has the bytes of another one.
--
-- Include: store.lua
-- KEYS[1]  bucket
-- ARGV[1]  what has to be there
-- ARGV[2]  what is written
-- ARGV[3]  time to live: ms, or keep for what the bucket has; empty: for ever
--
-- Returns  integer  1 it was written, 0 something else is there, or nothing
-- Replay   once: a second run finds what the first has written
if redis.call('get', KEYS[1]) ~= ARGV[1] then
	return 0
end
store(KEYS[1], ARGV[2], ARGV[3])
return 1
