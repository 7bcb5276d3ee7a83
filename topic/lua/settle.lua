-- settle.lua: acknowledge messages, take groups away whose subscribers have died, and drop what no group has use for.
--
-- Include: groups.lua
-- KEYS[1]  stream {name}
-- KEYS[2]  zset {name}:timeout: group → until when it is kept, ms
-- KEYS[3]  hash: id of the first message → n, how many groups still have use for it; for a second
-- ARGV[1]  group
-- ARGV[2]  now, ms
-- ARGV[n…]  ids of the messages; behind '!' one that was acknowledged before, when it was put aside
--
-- Returns  integer  how many were acknowledged
-- Replay   safe: what was acknowledged is so, and what was dropped is gone; the groups are looked at once more
if redis.call('exists', KEYS[1]) == 0 then
	return 0
end
-- To look at all groups for each that acknowledges would cost the square of their number for each message. So many are
-- counted once, and looked at again when as many have acknowledged the first message, or a second later. Few are looked
-- at each time: Redisson's acknowledgements are not counted.
local first = redis.call('hget', KEYS[3], 'id')
local n, counted = 0, 0
for i = 3, #ARGV do
	local id, acked = ARGV[i], 1
	if string.sub(id, 1, 1) == '!' then
		id = string.sub(id, 2)
	else
		acked = redis.call('xack', KEYS[1], ARGV[1], id)
		n = n + acked
	end
	if id == first then
		counted = acked
	end
end
for _, dead in ipairs(redis.call('zrangebyscore', KEYS[2], '-inf', '(' .. ARGV[2], 'LIMIT', 0, 100)) do
	if dead ~= ARGV[1] then -- whoever acknowledges lives, also if its clock has jumped
		redis.call('xgroup', 'destroy', KEYS[1], dead)
		redis.call('zrem', KEYS[2], dead)
		first = nil
	end
end
if first and (counted == 0 or redis.call('hincrby', KEYS[3], 'n', -1) > 0) then
	return n
end
local id, holders = trim()
redis.call('del', KEYS[3])
if id and holders > 4 then
	redis.call('hset', KEYS[3], 'id', id, 'n', holders)
	redis.call('pexpire', KEYS[3], 1000)
end
return n
