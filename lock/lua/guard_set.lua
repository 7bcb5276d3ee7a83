-- guard_set.lua: SET a value, unless a newer hold of the lock has written it.
--
-- Include: guard.lua
-- KEYS[1]  the value
-- KEYS[2]  hash: name of a lock -> the highest fencing token that has written, and its owner behind a space
-- KEYS[3]  tombstones: zset of requests that must not be done any more; missing as a rule
-- ARGV[1]  name of the lock
-- ARGV[2]  fencing token
-- ARGV[3]  owner, may be empty
-- ARGV[4]  this request
-- ARGV[5]  value
--
-- Returns  nil    written
--          array  {the highest token, its owner}: refused
-- Replay   safe: it writes the same again; one that was done with is refused by its tombstone
local refused = older()
if refused then
	return refused
end
redis.call('set', KEYS[1], ARGV[5])
raise()
return nil
