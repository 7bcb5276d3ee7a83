-- cache_add_if.lua: have a member end at a time, if something holds of it.
--
-- Include: live.lua
-- KEYS[1]  set
-- ARGV[1]  the caller's clock, ms
-- ARGV[2]  when it ends, ms
-- ARGV[3]  what has to hold: absent, it does not live; present, it lives; shorter or longer, it lives, and ends earlier
--          or later by this
-- ARGV[4]  member
--
-- Returns  integer  1 it ends then, 0 nothing was changed
-- Replay   once: a second run finds what the first has written
local ends = redis.call('zscore', KEYS[1], ARGV[4])
local alive, old, new = lives(ends, ARGV[1]), ends == 'inf' and math.huge or tonumber(ends or 0), tonumber(ARGV[2])
if ARGV[3] == 'absent' and alive or ARGV[3] ~= 'absent' and not alive
	or ARGV[3] == 'shorter' and new >= old or ARGV[3] == 'longer' and new <= old then
	return 0
end
redis.call('zadd', KEYS[1], ARGV[2], ARGV[4])
return 1
