-- move.lua: take and give permits, in runs of equal requests.
--
-- Include: lane.lua
-- Include: permits.lua
-- Include: announce.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  channel of given permits
-- ARGV[4]  publish or spublish
-- ARGV[n…]  of each run: take, give, or wait (a take that none of its kind overtakes); permits of a request; how many requests
--
-- Returns  array  {how many subscribers the message reached, of each run how many requests were granted}; {-1}: an older
--                 request that comes late, and changes nothing
--          nil    there is no such semaphore; to a further send of one that gives: there was none
-- Replay   safe: the lane knows the request, also one that gave nothing, if the server is not full; takes of which none
--          was granted may be decided anew
local answer = known()
if answer then
	if #answer == 0 and string.find(redis.call('get', KEYS[2]), ' none', 1, true) then
		return nil
	elseif answer[1] ~= -1 then
		table.insert(answer, 1, 0)
	end
	return answer
end
local was, wrong = free()
if not was then
	for i = 5, #ARGV, 3 do
		if ARGV[i] == 'give' and not wrong then
			-- A further send that finds permits gives nothing either. pcall: a full server forgets that.
			redis.pcall('set', KEYS[2], ARGV[1] .. ' 0 none', 'PX', ARGV[2])
		end
	end
	return wrong
end
local now, took, gave, held, giving = was, 0, 0, false, false
answer = {}
for i = 5, #ARGV, 3 do
	local kind, size, count = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
	local k
	if kind == 'give' then
		k = math.max(0, math.min(count, math.floor((most - now) / size)))
		now, gave, giving = now + size * k, gave + size * k, true
	else
		k = math.max(0, math.min(count, math.floor(now / size)))
		if kind == 'wait' then
			k = held and 0 or k
			held = held or k < count
		end
		now, took = now - size * k, took + size * k
	end
	answer[#answer + 1] = k
end
local reached = 0
if took + gave > 0 then
	if gave > 0 then
		-- First a write that a full server does not refuse: it lets those behind it pass.
		redis.call('pexpire', KEYS[2], ARGV[2])
	end
	redis.call('incrby', KEYS[1], string.format('%.0f', now - was))
	remember(took, answer)
	if gave > 0 then
		reached = announce(ARGV[4], ARGV[3], now)
	end
elseif giving then
	-- A copy gives nothing either. pcall: a full server forgets that.
	redis.pcall('set', KEYS[2], ARGV[1] .. ' 0 ' .. table.concat(answer, ' '), 'PX', ARGV[2])
end
table.insert(answer, 1, reached)
return answer
