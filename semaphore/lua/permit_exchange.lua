-- permit_exchange.lua: give permits back and take others, those of several callers in one.
--
-- Include: permits.lua
-- Include: announce.lua
-- Include: leases.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  leases: zset of the ids that are held, score = end of the lease, ms
-- KEYS[3]  tombstones: zset of ids that were given back; missing as a rule
-- ARGV[1]  channel of given permits
-- ARGV[2]  publish or spublish
-- ARGV[3]  how many are given back
-- ARGV[n…]  the id of each of those, 16 bytes; then of each that is wanted, in their order: its id, and its lease in ms
--
-- Returns  array  {how many subscribers the message reached, in how many ms the first lease ends or -1, of each that is
--                 given back: 1 done, 0 it is not held or has ended; of each that is wanted: 1 taken, 0 refused}
--          nil    there is no such semaphore; nothing is held then
-- Replay   safe: ids are used once; one that is there keeps its permit, its lease only grows; one that was given back is refused
local was, wrong = free()
if wrong then
	return wrong
end
local given = tonumber(ARGV[3])
local now = clock()
local dead = redis.pcall('zcount', KEYS[2], 0, whole(now))
if type(dead) == 'table' then
	return no_leases(KEYS[2], dead) or dead
end
if not was then
	for i = 4, 3 + given do
		redis.call('zrem', KEYS[2], ARGV[i])
	end
	return nil
end
local answers, backs = {0, -1}, {}
if given > 0 then
	-- A write that a full server does not refuse, and that changes nothing: it lets those behind it pass.
	redis.call('zrem', KEYS[2], '')
end
for i = 4, 3 + given do
	local id = ARGV[i]
	local ends = not backs[id] and redis.call('zscore', KEYS[2], id)
	local live = ends and tonumber(ends) > now
	if live then
		backs[#backs + 1], backs[id] = id, true
	end
	answers[#answers + 1] = live and 1 or 0
end
-- Those that are wanted come first: of a slot on the move, a set that was empty for a moment could not come back.
local room, took = was + dead + #backs, 0
local buried = redis.call('exists', KEYS[3]) == 1
for i = 4 + given, #ARGV, 2 do
	local id, ends, granted = ARGV[i], whole(now + ARGV[i + 1]), 0
	if not (buried and redis.call('zscore', KEYS[3], id)) then
		local stands = redis.call('zscore', KEYS[2], id)
		if stands and tonumber(stands) > now then -- one whose lease has ended is among the dead, and takes again
			redis.call('zadd', KEYS[2], 'XX', 'GT', ends, id)
			redis.call('incrby', KEYS[1], 0) -- for who waits until replicas have it
			granted = 1
		elseif room >= 1 then
			redis.call('zadd', KEYS[2], ends, id)
			room, took, granted = room - 1, took + 1, 1
		end
	end
	answers[#answers + 1] = granted
end
if took > 0 then
	follow(KEYS[1], KEYS[2])
end
answers[2] = first(KEYS[2], now)
if dead > 0 then
	redis.call('zremrangebyscore', KEYS[2], 0, whole(now))
end
for _, id in ipairs(backs) do
	redis.call('zrem', KEYS[2], id)
end
if room ~= was then
	redis.call('incrby', KEYS[1], whole(room - was))
end
if dead + #backs > 0 then
	answers[1] = announce(ARGV[2], ARGV[1], room)
end
return answers
