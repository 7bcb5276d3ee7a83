-- settle.lua: end a request of which nobody knows whether it ran. What it took goes back; what it gave stays given, and
-- is given now if it did not run.
--
-- Include: permits.lua
-- Include: announce.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  channel of given permits
-- ARGV[4]  publish or spublish
-- ARGV[5]  what it was to give; negative: what it would have given goes back as well
--
-- Returns  integer  by how much the permits grew
-- Replay   safe: it leaves the lane as settled, which says that nothing is taken and nothing is to be given
redis.call('pexpire', KEYS[2], ARGV[2]) -- which a full server does not refuse, so that it lets those behind it pass
local last, give = redis.call('get', KEYS[2]), tonumber(ARGV[5])
local grow = math.max(give, 0)
if last then
	local n, took, rest = string.match(last, '^(%d+) (%d+)(.*)$')
	if tonumber(n) > tonumber(ARGV[1]) then
		return 0
	end
	if tonumber(n) == tonumber(ARGV[1]) then
		grow = tonumber(took)
		if rest ~= ' settled' then
			grow = grow + math.min(give, 0)
		end
	end
end
redis.call('set', KEYS[2], ARGV[1] .. ' 0 settled', 'PX', ARGV[2])
if grow == 0 then
	return 0
end
local now, wrong = free()
if not now then
	return wrong or 0
end
if grow > 0 then
	grow = math.max(0, math.min(grow, most - now))
end
redis.call('incrby', KEYS[1], string.format('%.0f', grow))
if grow > 0 then
	announce(ARGV[4], ARGV[3], now + grow)
end
return grow
