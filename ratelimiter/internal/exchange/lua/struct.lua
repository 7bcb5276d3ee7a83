-- struct.lua: the library of that name, as far as it is needed, where the server is one for tests and has none.
--
-- It stands in a global, since a function that uses a local of its script costs more to make.
if not rawget(_G, 'struct') then
	local function pack(_, ...)
		local bytes = {}
		for i, n in ipairs({...}) do
			for at = 7 * i, 7 * i - 6, -1 do
				bytes[at] = string.char(n % 256)
				n = (n - n % 256) / 256
			end
		end
		return table.concat(bytes)
	end
	local function unpacked(_, text)
		local numbers = {}
		for at = 1, #text, 7 do
			local n = string.byte(text, at)
			n = n < 128 and n or n - 256
			for i = at + 1, at + 6 do
				n = n * 256 + string.byte(text, i)
			end
			numbers[#numbers + 1] = n
		end
		return unpack(numbers)
	end
	rawset(_G, 'struct', {pack = pack, unpack = unpacked})
end
