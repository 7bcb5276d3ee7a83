-- permit_exchange.lua: give permits back and take others, those of several callers in one.
--
-- Include: permits.lua
-- Include: announce.lua
-- Include: leases.lua
-- Include: labels.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  leases: zset of the ids that are held, score = end of the lease, ms
-- KEYS[3]  tombstones: zset of ids that were given back; missing as a rule
-- KEYS[4]  labels: hash of ids; missing where nobody sets any
-- ARGV[1]  channel of given permits
-- ARGV[2]  publish or spublish
-- ARGV[3]  how many are given back
-- ARGV[n…]  the id of each of those, 16 bytes; then of each request for permits, in their order: take, or wait (a take that
--           none of its kind overtakes); lease, ms; label or the empty one; how many permits, all or none; their ids
--
-- Returns  array  {how many subscribers the message reached, in how many ms the first lease ends or -1, of each that is
--                 given back: 1 done, 0 it is not held or has ended; of each request: 1 taken, 0 refused}
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
local held, labels, i = false, redis.call('exists', KEYS[4]) == 1, 4 + given
while i <= #ARGV do
	local kind, ends, label, last = ARGV[i], whole(now + ARGV[i + 1]), ARGV[i + 2], i + 3 + ARGV[i + 3]
	local need, refused = 0, false
	for j = i + 4, last do
		if buried and redis.call('zscore', KEYS[3], ARGV[j]) then
			refused = true
		end
		local stands = redis.call('zscore', KEYS[2], ARGV[j])
		if not stands or tonumber(stands) <= now then -- one whose lease has ended is among the dead, and takes again
			need = need + 1
		end
	end
	local granted = not refused and (need == 0 or need <= room and not (kind == 'wait' and held))
	for j = i + 4, granted and last or 0 do
		redis.call('zadd', KEYS[2], 'GT', ends, ARGV[j])
		if label ~= '' then
			redis.call('hset', KEYS[4], ARGV[j], label)
			labels = true
		end
	end
	if granted then
		room, took = room - need, took + need
		redis.call('incrby', KEYS[1], 0) -- of a replay, too: for who waits until replicas have it
	end
	held = held or kind == 'wait' and not granted
	answers[#answers + 1] = granted and 1 or 0
	i = last + 1
end
if took > 0 then
	follow(KEYS[1], KEYS[2])
	if labels then
		follow(KEYS[1], KEYS[4])
	end
end
answers[2] = first(KEYS[2], now)
local ended = labels and unlabelled(KEYS[2], now, backs) or {}
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
for _, id in ipairs(ended) do
	redis.pcall('hdel', KEYS[4], id) -- pcall: of a slot on the move, a key that has gone is an error
end
return answers
