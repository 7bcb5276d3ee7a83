-- set_many.lua: write buckets with a time to live, or if none of them exists.
--
-- Include: store.lua
-- KEYS[i…]  buckets
-- ARGV[1]   1: only if no key has one of the names
-- ARGV[2]   time to live: ms, or keep for what each bucket has; empty: for ever
-- ARGV[3…]  the value of each bucket
--
-- Returns  integer  1 they were written, 0 there is one, and nothing was written
-- Replay   once: a second run finds what the first has written
for i = 1, ARGV[1] == '1' and #KEYS or 0 do
	if redis.call('exists', KEYS[i]) == 1 then
		return 0
	end
end
for i = 1, #KEYS do
	store(KEYS[i], ARGV[i + 2], ARGV[2])
end
return 1
