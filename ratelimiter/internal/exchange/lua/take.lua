-- take.lua: the common case of decide.lua: equal requests of one kind on one bucket, which take what is there or nothing.
--
-- Include: bucket.lua
-- KEYS[1]  state of the bucket
-- ARGV[1]  seven numbers of seven bytes: generation of the rule; ticks gained per unit of time; ticks per token; ticks
--          when full; unit of time, µs; ticks that one request takes; how many such requests there are
--
-- Returns  nil     the state is of another generation, blocked, or of the future: decide.lua has to be asked; nothing was
--                  done
--          string  the state afterwards: all are granted, and t is the server's time
--          array   {ticks missing afterwards, t, server time now, how many requests are granted}
-- Replay   once: a second run takes again
local generation, gain, per, full, unit, cost, m = struct.unpack('>i7i7i7i7i7i7i7', ARGV[1])
local q, t = 0, now - now % unit
local state = redis.call('GET', KEYS[1])
if state then
	if #state ~= 28 then
		return nil
	end
	local g, at, w, f = struct.unpack('>i7i7i7i7', state)
	if g ~= generation then
		return nil
	end
	q = w * per + f
	if at <= t then
		q = later(q, at, t, unit, gain)
	elseif at <= t + 1000000 then
		t = at
	else
		return nil
	end
end
local k = (full - q) / cost
if k < 1 then
	return {q, t, now, 0}
end
k = k < m and k - k % 1 or m
q = q + k * cost
state = save(KEYS[1], now, generation, t, q, 0, gain, per, unit)
if k == m and t == now then
	return state
end
return {q, t, now, k}
