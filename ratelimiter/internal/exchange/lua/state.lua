-- state.lua: how a bucket is kept: as four numbers, or five, of seven bytes each, the highest first.
--
-- They are the generation of the rule, t, w, f, and b: w tokens and f ticks are missing as of server time t, µs; nothing
-- is granted before b, µs. Full and not blocked means absent.
local struct = rawget(_G, 'struct')
if not struct then -- a server in a test
	struct = {}
	function struct.pack(_, ...)
		local bytes = {}
		for i, n in ipairs({...}) do
			for at = 7 * i, 7 * i - 6, -1 do
				bytes[at] = string.char(n % 256)
				n = (n - n % 256) / 256
			end
		end
		return table.concat(bytes)
	end
	function struct.unpack(_, text)
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
end

-- load is the numbers of a state, the last 0 where there is none; nil if the text is no state. Seven bytes of what people
-- write are a number above 2^53.
local function load(state)
	local g, t, w, f, b
	if #state == 28 then
		g, t, w, f = struct.unpack('>i7i7i7i7', state)
	elseif #state == 35 then
		g, t, w, f, b = struct.unpack('>i7i7i7i7i7', state)
	else
		return nil
	end
	if t < 9007199254740992 then
		return g, t, w, f, b or 0
	end
end
