-- idle.lua: the longest idle time that stands before a value. Servers for tests have no struct to read it with.

-- idle is the double in the first eight bytes, ms; 0: none.
local function idle(packed)
	local a, b, c, d, e, f, g, h = string.byte(packed, 1, 8)
	if not h or g + h == 0 then
		return 0
	end
	local exponent = h % 128 * 16 + math.floor(g / 16)
	local fraction = ((((((g % 16 * 256 + f) * 256 + e) * 256 + d) * 256 + c) * 256 + b) * 256 + a)
	return math.ldexp(fraction + 2 ^ 52, exponent - 1075)
end
