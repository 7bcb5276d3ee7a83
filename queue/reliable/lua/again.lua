-- again.lua: a request that the lane of the consumer knows.
--
-- Needs    queue.lua; ARGV[1]
-- Defines  again

-- again returns the answer to a request that came before, and nil for a new one. last is the text of the lane: number of the
-- request, settled, delivery, ids. What was taken and is not leased in that delivery any more is left out.
local function again(last)
	local n = string.match(last, '^%d+')
	if tonumber(n) > tonumber(ARGV[1]) then
		return {-1}
	elseif n ~= ARGV[1] then
		return nil
	end
	local settled, delivered, took = string.match(last, ' (%S+) (%S+) (.*)$')
	local out, still = {0, string.sub(settled, 2), delivered, '', '?'}, {}
	for of in string.gmatch(took, '%S+') do
		local id, attempt = parts(of)
		local text = redis.call('zscore', lease, id .. ':' .. attempt .. delivered) and redis.call('hget', body, id)
		if text then
			out[#out + 1], still[#still + 1] = text, of
		end
	end
	out[4] = table.concat(still, ' ')
	return out
end
