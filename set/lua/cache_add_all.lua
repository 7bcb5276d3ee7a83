-- cache_add_all.lua: add members that end at a time if none of them lives.
--
-- Include: live.lua
-- KEYS[1]   set
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   when they end, ms
-- ARGV[3…]  members
--
-- Returns  integer  1 they were added, 0 one lives, and nothing was added
-- Replay   once: a second run finds what the first has added
for i = 3, #ARGV do
	if lives(redis.call('zscore', KEYS[1], ARGV[i]), ARGV[1]) then
		return 0
	end
end
for i = 3, #ARGV do
	redis.call('zadd', KEYS[1], ARGV[2], ARGV[i])
end
return 1
