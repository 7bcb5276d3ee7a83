-- fill.lua: make all bits of a range 1 or 0. Zeros end where the string ends.
--
-- KEYS[1]  string
-- ARGV[1]  1 or 0
-- ARGV[2]  first bit
-- ARGV[3]  after the last bit
--
-- Returns  integer  1
-- Replay   once: a second run overwrites what another client has written since
local from, to, byte = tonumber(ARGV[2]), tonumber(ARGV[3]), '\255'
if ARGV[1] == '0' then
	to, byte = math.min(to, redis.call('strlen', KEYS[1]) * 8), '\0'
end

-- each sets the bits from one up to another, one by one.
local function each(first, last)
	for i = first, last - 1 do
		redis.call('setbit', KEYS[1], string.format('%.0f', i), ARGV[1])
	end
end

local first, last = math.ceil(from / 8), math.floor(to / 8) -- of the bytes that are written as a whole
if first >= last then
	each(from, to)
	return 1
end
each(last * 8, to)
redis.call('setrange', KEYS[1], string.format('%.0f', first), string.rep(byte, last - first))
each(from, first * 8)
return 1
