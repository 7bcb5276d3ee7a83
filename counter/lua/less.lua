-- less.lua: the order of integers that are text.

-- less says whether the integer a is below the integer b.
local function less(a, b)
	local below, negative = string.sub(a, 1, 1) == '-', string.sub(b, 1, 1) == '-'
	if below ~= negative then
		return below
	elseif #a ~= #b then
		return (#a < #b) ~= below
	elseif below then
		return a > b
	end
	return a < b
end
