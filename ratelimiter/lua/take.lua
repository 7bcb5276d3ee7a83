-- take.lua: the common case of decide.lua: equal requests of one kind on one bucket, which take what is there or nothing.
--
-- Include: bucket.lua
-- KEYS[1]  state of the bucket
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
local q, t = 0, now - now % ARGV[5]
local state = redis.call('GET', KEYS[1])
if state then
	local g, at, w, f, block = load(state)
	if g ~= ARGV[1] or block ~= '' then
		return nil
	end
	q = w * ARGV[3] + f
	at = tonumber(at)
	if at <= t then
		q = later(q, at, t, ARGV[5], ARGV[2])
	elseif at <= t + 1000000 then
		t = at
	else
		return nil
	end
end
local cost, m = tonumber(ARGV[6]), tonumber(ARGV[7])
local k = math.floor((ARGV[4] - q) / cost)
if k <= 0 then
	return {q, t, now, 0}
end
if k > m then
	k = m
end
q = q + k * cost
save(KEYS[1], ARGV[1], t, q, 0, ARGV[2], ARGV[3], ARGV[5])
return {q, t, now, k}
