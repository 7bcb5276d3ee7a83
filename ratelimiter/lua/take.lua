-- take.lua: the common case of decide.lua: equal requests of one kind on one bucket, which take what is there or nothing.
--
-- KEYS[1]  state: "generation t w f": w tokens and f ticks are missing as of server time t, µs; full means absent
-- ARGV[1]  generation of the rule
-- ARGV[2]  ticks gained per unit of time
-- ARGV[3]  ticks per token
-- ARGV[4]  ticks when full
-- ARGV[5]  unit of time, µs
-- ARGV[6]  ticks that one request takes
-- ARGV[7]  how many such requests there are
--
-- Returns  nil    the state is of another generation, blocked, or of the future: decide.lua has to be asked; nothing was
--                 done
--          array  {ticks missing afterwards, t, server time now, how many requests are granted}
-- Replay   unsafe: a second run takes again
local clock = redis.call('TIME')
local exact = clock[1] * 1000000 + clock[2]
local now = exact - exact % ARGV[5]
local q, t = 0, now
local state = redis.call('GET', KEYS[1])
if state then
	local g, at, w, f = string.match(state, '^(%-?%d+) (%d+) (%d+) (%d+)$')
	if g ~= ARGV[1] then
		return nil
	end
	q = w * ARGV[3] + f
	t = tonumber(at)
	if t <= now then
		q = q - (now - t) / ARGV[5] * ARGV[2]
		if q < 0 then
			q = 0
		end
		t = now
	elseif t > now + 1000000 then
		return nil
	end
end
local cost, m = tonumber(ARGV[6]), tonumber(ARGV[7])
local k = math.floor((ARGV[4] - q) / cost)
if k <= 0 then
	return {q, t, exact, 0}
end
if k > m then
	k = m
end
q = q + k * cost
local w = math.floor(q / ARGV[3])
local px = math.ceil((math.ceil(q / ARGV[2]) * ARGV[5] + t - exact) / 1000) + 1
if px > 100000000000000 then
	px = 100000000000000
end
redis.call('SET', KEYS[1], string.format('%s %.0f %.0f %.0f', ARGV[1], t, w, q - w * ARGV[3]), 'PX', string.format('%.0f', px))
return {q, t, exact, k}
