-- again.lua: a request that the lane of the consumer knows. The step ends here with the answer that the request had.
--
-- Needs    queue.lua; ARGV[1]; the last key
-- Defines  lane
local lane = KEYS[#KEYS]
local last = redis.call('get', lane) -- number of the request, settled, delivery, ids
local number = last and string.match(last, '^%d+')
if number == ARGV[1] then
	local settled, delivered, took = string.match(last, ' (%S+) (%S+) (.*)$')
	local out, still = {0, string.sub(settled, 2), delivered, '', '?'}, {}
	for of in string.gmatch(took, '%S+') do
		local id, attempt = parts(of)
		local text = redis.call('zscore', lease, id .. ':' .. attempt .. delivered) and redis.call('hget', body, id)
		if text then -- else it is not leased in that delivery any more
			out[#out + 1], still[#still + 1] = text, of
		end
	end
	out[4] = table.concat(still, ' ')
	return out
elseif number and tonumber(number) > tonumber(ARGV[1]) then
	return {-1}
end
