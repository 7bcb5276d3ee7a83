-- cancel.lua: give back what reservations still hold, less what was reserved behind each.
--
-- KEYS[1]  state of the bucket, see decide.lua
-- ARGV[1]  generation of the rule that the reservations were made by
-- ARGV[2]  ticks gained per unit of time
-- ARGV[3]  ticks per token
-- ARGV[4]  ticks when full
-- ARGV[5]  unit of time, µs
-- ARGV[i…] for each reservation, the latest first: ticks that were reserved; ticks that it had to wait for; t of the
--          reservation, µs; 1 if it was surely not used, 0 if it counts as used once its time has come
--
-- Returns  array  ticks given back, for each reservation; empty if the bucket is full or of another rule
-- Replay   unsafe: a second run gives back again
local state = redis.call('GET', KEYS[1])
if not state then
	return {}
end
local g, at, w, f, block = string.match(state, '^(%-?%d+) (%d+) (%d+) (%d+) ?(%d*)$')
if g ~= ARGV[1] then
	return {}
end
local clock = redis.call('TIME')
local exact = clock[1] * 1000000 + clock[2]
local gain, per, full, unit = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local now = exact - exact % unit
local q, t = w * per + f, tonumber(at)
local b = tonumber(block) or 0
if t > now + 1000000 and t > b then -- as in decide.lua
	t = (q > full or b > exact) and now + 1000000 or now
end
if t < now then
	q = q - (now - t) / unit * gain
	if q < 0 then
		q = 0
	end
	t = now
end

-- due is how many ticks lie between a time and the moment at which a reservation may be used.
local function due(wait, reserved, from)
	local left = wait - (from - reserved) / unit * gain
	return left > 0 and left or 0
end

local all, given = 0, {}
for i = 6, #ARGV, 4 do
	local wait, reserved, back = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), 0
	if ARGV[i + 3] == '1' or due(wait, reserved, now) > 0 then
		local behind = (q - full) - due(wait, reserved, t)
		back = ARGV[i] - (behind > 0 and behind or 0)
		if back > q then
			back = q
		elseif back < 0 then
			back = 0
		end
		q = q - back
		all = all + back
	end
	given[#given + 1] = back
end
if all == 0 then
	return given
end
if q == 0 and b <= exact then
	redis.call('DEL', KEYS[1])
	return given
end
w = math.floor(q / per)
local text = string.format('%s %.0f %.0f %.0f', g, t, w, q - w * per)
local px = (math.ceil(q / gain) * unit + t - exact) / 1000
if b > exact then
	text = text .. ' ' .. block
	if px < (b - exact) / 1000 then
		px = (b - exact) / 1000
	end
end
px = math.ceil(px) + 1
if px > 100000000000000 then
	px = 100000000000000
end
redis.call('SET', KEYS[1], text, 'PX', string.format('%.0f', px))
return given
