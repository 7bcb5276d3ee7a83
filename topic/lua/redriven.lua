-- redriven.lua: acknowledge messages that were redriven: they go.
--
-- KEYS[1]  stream of what was redriven
-- ARGV[1]  group
-- ARGV[n…]  ids of the messages
--
-- Returns  integer  how many were acknowledged
-- Replay   safe: what was acknowledged is gone
if redis.call('exists', KEYS[1]) == 0 then
	return 0
end
local n = 0
for i = 2, #ARGV do
	n = n + redis.call('xack', KEYS[1], ARGV[1], ARGV[i])
	redis.call('xdel', KEYS[1], ARGV[i])
end
if redis.call('xlen', KEYS[1]) == 0 then
	redis.call('del', KEYS[1])
end
return n
