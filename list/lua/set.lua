-- set.lua: replace the element of an index.
--
-- KEYS[1]  list
-- ARGV[1]  index, from 0; negative: from the end
-- ARGV[2]  element
--
-- Returns  text  what was there; nil: there is no such index, and nothing was done
-- Replay   unsafe: a second run answers with what the first has written
local old = redis.call('lindex', KEYS[1], ARGV[1])
if old then
	redis.call('lset', KEYS[1], ARGV[1], ARGV[2])
end
return old
