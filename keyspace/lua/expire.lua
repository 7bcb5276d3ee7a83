-- expire.lua: let keys go when a time has passed.
--
-- KEYS[i…]  keys of any type
-- ARGV[1]   in how many ms
--
-- Returns  integer  how many of the keys there are
-- Replay   once: somebody else may have changed a time in between
local there = 0
for i = 1, #KEYS do
	there = there + redis.call('pexpire', KEYS[i], ARGV[1])
end
return there
