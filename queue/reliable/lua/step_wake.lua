-- step_wake.lua: others are woken for what this consumer leaves to them. The step ends here unless the consumer waits for more.
--
-- Include: wake.lua
-- Needs    step_take.lua, step_count.lua; ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[8], ARGV[11], ARGV[12]
-- Defines  me, cap, role   who the consumer is, how long it sleeps at most, whether it waits
--          open            whether what is ready can be taken
local me, cap, role = ARGV[6], tonumber(ARGV[11]), ARGV[12]
out[1] = cap
if role == 'l' then
	redis.call('zrem', idle, me)
	if redis.call('get', keeper) == me then
		redis.call('del', keeper)
		if there(due, lease, pause) then -- there is a moment to be kept
			wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
		end
	end
end
local short = got > 0 and tonumber(ARGV[8]) < cap
local others = (short or got == asked) and there(idle)
if got == asked and (others or role == 'l') and redis.call('get', deputy) == me then
	-- A consumer that waits no more is no deputy: another client has to be, should the keeper die.
	redis.call('del', deputy)
	wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
end
if short and others then
	-- The keeper has to look before the lease ends, should this consumer die.
	local planned = redis.call('pttl', keeper)
	if planned < 0 or planned > ARGV[8] + 500 or redis.call('get', keeper) == me then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
end
local open = not paused and not limited -- what is ready can be taken
if takes_dead then
	local first = redis.call('zrange', dead, 0, 0, 'WITHSCORES')[2]
	if more then
		out[1] = 0
	elseif first and open then
		out[1] = math.max(0, math.min(cap, tonumber(first) - now))
	end
	return out
elseif got == asked then
	if others and open and there(ready, prio) then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'w')
	end
	if more then
		wake(1, ARGV[4], ARGV[5], ARGV[3], 'd')
	end
	return out
end
