-- cancel.lua: give back what reservations still hold, less what was reserved behind each.
--
-- Include: state.lua
-- Include: bucket.lua
-- KEYS[1]  state of the bucket
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
local g, at, w, f, block = load(state)
if g ~= tonumber(ARGV[1]) then
	return {}
end
local gain, per, full, unit = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local today = now - now % unit
local q = w * per + f
local t = known(at, now, today, q > full, block)
if t < today then
	q, t = later(q, t, today, unit, gain), today
end

-- due is how many ticks lie between a time and the moment at which a reservation may be used.
local function due(wait, reserved, from)
	local left = wait - (from - reserved) / unit * gain
	return left > 0 and left or 0
end

local all, given = 0, {}
for i = 6, #ARGV, 4 do
	local wait, reserved, back = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), 0
	if ARGV[i + 3] == '1' or due(wait, reserved, today) > 0 then
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
if all > 0 then
	save(KEYS[1], now, g, t, q, block, gain, per, unit)
end
return given
