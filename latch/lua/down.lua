-- down.lua: count down, for several callers at once.
--
-- Include: lane.lua
-- Include: count.lua
-- Include: opened.lua
-- Include: armed.lua
-- Include: open.lua
-- KEYS[1]  count, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  when it opened last, µs
-- KEYS[4]  who has counted down since it was armed: hash of parties; under the empty one the count at the first of them
-- KEYS[5]  when it was armed, µs
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane and an opening are remembered, ms
-- ARGV[3]  channel of the latch
-- ARGV[4]  publish or spublish
-- ARGV[5]  how long ago it was sent first, µs; 0 at the first send
-- ARGV[n…]  in turn: how often, and for which party, which counts once; none: the empty one
--
-- Returns  array  of each of these the count before it, or for a party behind it, and then -1 if it may have come too late, since
--                 nobody knows when the latch was armed, and counts nothing; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end
-- First a write that a full server does not refuse: it lets those behind it pass.
redis.call('pexpire', KEYS[2], ARGV[2])
local was, wrong = left()
if wrong then
	return wrong
end
local now, checked = math.max(was or 0, 0), false

-- once reports whether a party counts.
local function once(party)
	if not checked then
		checked = true
		local set = tonumber(redis.call('hget', KEYS[4], '') or '-1')
		if set < 0 or now + redis.call('hlen', KEYS[4]) - 1 > set then
			-- They are of an earlier arming, or there are none.
			redis.call('hset', KEYS[4], '', string.format('%.0f', now))
			local ends = redis.call('pttl', KEYS[1])
			if ends >= 0 then
				redis.call('pexpire', KEYS[4], math.max(1, ends))
			else
				redis.call('persist', KEYS[4])
			end
			for _, old in ipairs(redis.call('hkeys', KEYS[4])) do
				if old ~= '' then
					redis.call('hdel', KEYS[4], old)
				end
			end
		end
	end
	return redis.call('hset', KEYS[4], party, '1') == 1
end

-- A send that comes into a later arming than it was meant for counts as if it had come just after the opening that it
-- missed. A hundredth of its age is for clocks that do not run alike: it must not be taken for older than it is. A time
-- in the future is one of before the clock went back, and does not tell. Where nobody knows when the latch was armed, the
-- last opening tells, which is remembered for ARGV[2]. Where that does not tell either, nothing counts, and that is said.
local age, overdue, gone = 0.99 * ARGV[5], false, false
if age > 0 then
	local t = redis.call('time')
	local clock = t[1] * 1000000 + t[2]
	local sent, since, last = math.max(clock - age, 0), armed(KEYS[5]), opened()
	local unknown = since == 0 or since > clock
	overdue = not unknown and since > sent or last <= clock and last > sent
	if unknown and not overdue then
		overdue = last > clock or age > ARGV[2] * 1000
		gone = overdue and now > 0
	end
	now = overdue and 0 or now
end

answer = {}
for i = 6, #ARGV, 2 do
	if ARGV[i + 1] == '' then
		answer[#answer + 1] = now
		now = math.max(now - tonumber(ARGV[i]), 0)
	else
		if now > 0 and once(ARGV[i + 1]) then
			now = now - 1
		end
		answer[#answer + 1] = now
	end
end
local text = {}
for i, n in ipairs(answer) do
	text[i] = string.format('%.0f', n)
end
if gone then
	answer[#answer + 1], text[#text + 1] = -1, '-1'
end
remember(0, text)
if overdue then
	return answer
elseif now > 0 then
	redis.call('decrby', KEYS[1], string.format('%.0f', was - now))
elseif was and was > 0 then
	open()
else
	redis.call('del', KEYS[4], KEYS[5]) -- which an opening by Redisson leaves
	redis.call('del', KEYS[1])
end
return answer
