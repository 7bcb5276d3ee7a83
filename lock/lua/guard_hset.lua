-- guard_hset.lua: HSET fields, unless a newer hold of the lock has written the hash.
--
-- Include: guard.lua
-- KEYS[1]  the hash
-- KEYS[2]  hash: name of a lock -> the highest fencing token that has written, and its owner behind a space
-- KEYS[3]  tombstones: zset of requests that must not be done any more; missing as a rule
-- ARGV[1]  name of the lock
-- ARGV[2]  fencing token
-- ARGV[3]  owner, may be empty
-- ARGV[4]  this request
-- ARGV[5…] fields and values in turn
--
-- Returns  nil    written
--          array  {the highest token, its owner}: refused
-- Replay   safe: it writes the same again; one that was done with is refused by its tombstone
local refused = older()
if refused then
	return refused
end
for i = 5, #ARGV, 2 do -- an error here, as of another type, comes with the first
	redis.call('hset', KEYS[1], ARGV[i], ARGV[i + 1])
end
raise()
return nil
