-- lengths.lua: how many bytes some fields of a hash have, before they are read.
--
-- KEYS[1]   hash
-- ARGV[1…]  fields
--
-- Returns  integer  bytes of their values
-- Replay   reads: it changes nothing
local bytes = 0
for _, field in ipairs(ARGV) do
	bytes = bytes + redis.call('hstrlen', KEYS[1], field)
end
return bytes
