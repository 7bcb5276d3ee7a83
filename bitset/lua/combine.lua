-- combine.lua: write what an operation makes of the bits of several strings over the first. It keeps its time to live.
--
-- KEYS[1]   string
-- KEYS[2…]  the others; of NOT none
-- ARGV[1]   AND, OR, XOR or NOT
--
-- Returns  integer  1
-- Replay   once: a second run would undo NOT and XOR, and overwrite what another client has written since
local left = redis.call('pttl', KEYS[1])
redis.call('bitop', ARGV[1], KEYS[1], unpack(KEYS))
if left >= 0 then
	redis.call('pexpire', KEYS[1], math.max(left, 1))
end
return 1
