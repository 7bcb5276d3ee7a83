-- count.lua: count the bits that are 1, of a part of a string.
--
-- KEYS[1]  string
-- ARGV[1]  first byte
-- ARGV[2]  how many bytes are counted
--
-- Returns  array  how many bits are 1; the byte where it goes on, 0 at the end
-- Replay   reads: it changes nothing
local from = tonumber(ARGV[1])
local after = from + tonumber(ARGV[2])
local n = redis.call('bitcount', KEYS[1], from, after - 1)
if after >= redis.call('strlen', KEYS[1]) then
	after = 0
end
return {n, after}
