-- settle.lua: end a request of which nobody knows whether it ran. What it took goes back; what it gave stays given, and
-- is given now if it did not run. Permits that were set since are another life of the semaphore: they are left alone.
--
-- Include: permits.lua
-- Include: announce.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- KEYS[3]  when the permits were set, µs
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  channel of given permits
-- ARGV[4]  publish or spublish
-- ARGV[5]  what it was to give; negative: what it would have given goes back as well
-- ARGV[6]  how long ago it was sent first, µs
--
-- Returns  integer  by how much the permits grew; -1 of what was to give: it came too late, since nobody knows when the permits were
--                   set, or the key held something else, and gives nothing
-- Replay   safe: it leaves the lane as settled, or as gone, which says that nothing is taken and nothing is to be given
local left = redis.call('pttl', KEYS[2])
redis.call('pexpire', KEYS[2], ARGV[2]) -- which a full server does not refuse, so that it lets those behind it pass
local last, give = redis.call('get', KEYS[2]), tonumber(ARGV[5])
local n, took, rest = string.match(last or '', '^(%d+) (%d+)(.*)$')
if n and tonumber(n) > tonumber(ARGV[1]) then
	return 0
end
-- A hundredth of the age is for clocks that do not run alike, a second for a replica's that is the master now. What is later
-- was noted before the clock was set back.
local t = redis.call('time')
local now, age, memory, second = t[1] * 1000000 + t[2], 0.99 * ARGV[6], ARGV[2] * 1000, 1000000
local set = redis.pcall('get', KEYS[3])
set = type(set) == 'string' and tonumber(set) or 0
local free_now, wrong = free()
local grow, gone
if n == ARGV[1] then
	-- It ran when its lane was written, ARGV[2] before that ends: in the millisecond that begins then.
	local ran, since = now - t[2] % 1000 - memory + left * 1000, 1.03 * age + second
	grow, gone = tonumber(took), rest == ' gone'
	if string.find(rest, '[1-9]') then -- it gave something: the answer of one that was refused is 0s
		grow = grow + math.min(give, 0)
	end
	-- What was set after it ran was so within its age, by the same clock. Where the clock was set back after it ran, what was
	-- set within its age may have been set before or after that, and counts as set after it.
	-- What was set in the millisecond in which it ran was set before it, if that was before its first send.
	local later = set >= ran + 1000 or set >= ran and set > now - ARGV[6]
	if later and set <= ran + since or ran > now + second and set > now - since and set <= now + second then
		grow = 0
	end
else
	grow = math.max(give, 0)
	if set > now + second then
		set = 0
	end
	-- Where nobody knows when the permits were set, a request is given up when the server has forgotten its time.
	local forgotten = set == 0 and age > memory
	if forgotten or set > now - age then
		grow = 0
	end
	gone = give > 0 and (wrong or free_now and (forgotten or set > now))
end
redis.call('set', KEYS[2], ARGV[1] .. (gone and ' 0 gone' or ' 0 settled'), 'PX', ARGV[2])
if gone then
	return wrong or -1
elseif grow == 0 then
	return 0
elseif not free_now then
	return wrong or 0
end
if grow > 0 then
	grow = math.max(0, math.min(grow, most - free_now))
end
redis.call('incrby', KEYS[1], string.format('%.0f', grow))
if grow > 0 then
	announce(ARGV[4], ARGV[3], free_now + grow)
end
return grow
