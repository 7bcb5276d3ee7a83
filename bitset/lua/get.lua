-- get.lua: read bits one by one, where the server has no command for many.
--
-- KEYS[1]   string
-- ARGV[1…]  their offsets
--
-- Returns  array  the bits
-- Replay   reads: it changes nothing
local bits = {}
for i = 1, #ARGV do
	bits[i] = redis.call('getbit', KEYS[1], ARGV[i])
end
return bits
