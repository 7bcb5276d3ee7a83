-- keep.lua: keep the group of a subscriber that lives.
--
-- KEYS[1]  zset {name}:timeout: group → until when it is kept, ms
-- ARGV[1]  group
-- ARGV[2]  until when it is kept
--
-- Returns  integer  1: it is kept; 0: it is gone
-- Replay   safe: it says the same again
if not redis.call('zscore', KEYS[1], ARGV[1]) then
	return 0
end
redis.call('zadd', KEYS[1], 'GT', ARGV[2], ARGV[1]) -- a clock that goes back makes it no shorter
return 1
