-- add_score.lua: add to the score of a member, unless it becomes infinite.
--
-- KEYS[1]  set
-- ARGV[1]  what is added
-- ARGV[2]  member
--
-- Returns  text  the new score
--          nil   it would be infinite, and nothing was done
-- Replay   once: a second run adds again
local old = redis.call('zscore', KEYS[1], ARGV[2])
local new = (old or 0) + ARGV[1]
if new == math.huge or new == -math.huge or new ~= new then
	return false
end
return redis.call('zincrby', KEYS[1], ARGV[1], ARGV[2])
