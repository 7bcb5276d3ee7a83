-- behind_take.lua: read the oldest changes that are queued for a store, as many as make an answer of bounded size.
--
-- KEYS[1]  stream of changes
-- ARGV[1]  how many at most
-- ARGV[2]  how many bytes of keys and values at most; the first change is there in any case
--
-- Returns  array  {how long the oldest is queued, ms; 1 if no more would be taken, else 0; the changes as XRANGE returns them}
-- Replay   reads: it changes nothing
local most, room = tonumber(ARGV[1]), tonumber(ARGV[2])
local some, size, from, full = {}, 0, '-', 0

-- wanted is how many fit, as far as the size of those before tells. Few at a time: what is read in vain takes time, too.
local function wanted()
	if #some == 0 then
		return 1
	end
	return math.max(1, math.min(8, most - #some, math.floor((room - size) / (size / #some + 1))))
end

while full == 0 do
	local n = wanted()
	local page = redis.call('xrange', KEYS[1], from, '+', 'COUNT', n)
	for _, one in ipairs(page) do
		local bytes = #one[2][2] + #one[2][4]
		if #some == most or #some > 0 and size + bytes > room then
			full = 1
			break
		end
		some[#some + 1], size, from = one, size + bytes, '(' .. one[1]
	end
	if #page < n then
		break
	end
	full = #some == most and 1 or full
end
local age = 0
if #some > 0 then
	local now = redis.call('time')
	age = now[1] * 1000 + math.floor(now[2] / 1000) - tonumber(string.match(some[1][1], '^%d+'))
end
return {age, full, some}
