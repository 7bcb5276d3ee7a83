-- length.lua: find the highest bit that is 1, in the last part of a string.
--
-- KEYS[1]  string
-- ARGV[1]  the byte after that part, -1 for the end of the string
-- ARGV[2]  how many bytes it looks at
--
-- Returns  integer  the number of bits up to that one, 0 if there is none; if this part has none, minus the byte
--                   after the next part
-- Replay   reads: it changes nothing
local stop, size = tonumber(ARGV[1]), redis.call('strlen', KEYS[1])
if stop < 0 or stop > size then
	stop = size
end
local from = math.max(stop - tonumber(ARGV[2]), 0)

-- any reports whether a bit of these bytes is 1.
local function any(first, after)
	return redis.call('bitcount', KEYS[1], first, after - 1) > 0
end

local first, width = stop, 16
repeat
	stop = first
	if stop == from then
		return -from
	end
	first, width = math.max(stop - width, from), width * 2
until any(first, stop)
while stop - first > 1 do -- some byte of these has a bit
	local half = math.floor((first + stop) / 2)
	if any(half, stop) then
		first = half
	else
		stop = half
	end
end
local byte, bits = string.byte(redis.call('getrange', KEYS[1], first, first)), 8
while byte % 2 == 0 do
	byte, bits = byte / 2, bits - 1
end
return first * 8 + bits
