-- write.lua: write bits. A zero that lies after the end is not written: it is one already.
--
-- KEYS[1]   string
-- ARGV[1]   the bits, one character each
-- ARGV[2…]  their offsets
--
-- Returns  array  what they were
-- Replay   once: a second run finds what the first has written, or overwrites what another client has written since
local size, was = redis.call('strlen', KEYS[1]) * 8, {}
for i = 2, #ARGV do
	local bit = string.sub(ARGV[1], i - 1, i - 1)
	if bit == '1' or tonumber(ARGV[i]) < size then
		was[i - 1] = redis.call('setbit', KEYS[1], ARGV[i], bit)
	else
		was[i - 1] = 0
	end
end
return was
