-- packed.lua: an element of a delayed queue as Redisson packs it: the length of what makes it unique, that, the length
-- of the element in 8 bytes, the lowest first, and the element.

-- payload is the element in a packed one; nil: it is none.
local function payload(packed)
	local id = string.byte(packed)
	local size = #packed - (id or 0) - 9
	if not id or size < 0 then
		return nil
	end
	local a, b, c, d, e, f, g, h = string.byte(packed, id + 2, id + 9)
	if a + b * 256 + c * 65536 + d * 16777216 ~= size or e + f + g + h > 0 then
		return nil
	end
	return string.sub(packed, id + 10)
end
