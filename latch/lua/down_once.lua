-- down_once.lua: count down, once for each request id of the caller's.
--
-- Include: count.lua
-- Include: opened.lua
-- Include: open.lua
-- KEYS[1]  count, the name itself: decimal
-- KEYS[2]  the request: what was left behind it
-- KEYS[3]  when it opened last, µs
-- KEYS[4]  who has counted down since it was armed
-- KEYS[5]  when it was armed, µs
-- ARGV[1]  how long the request is remembered, ms
-- ARGV[2]  how long an opening is remembered, ms
-- ARGV[3]  channel of the latch
-- ARGV[4]  publish or spublish
--
-- Returns  integer  what is left behind it, now or when it was done before
-- Replay   safe: the request is known by its id
local before = redis.call('get', KEYS[2])
if before then
	return tonumber(before)
end
-- First a write that a full server does not refuse: it lets those behind it pass.
redis.call('pexpire', KEYS[2], ARGV[1])
local was, wrong = left()
if wrong then
	return wrong
end
local now = math.max((was or 0) - 1, 0)
redis.call('set', KEYS[2], string.format('%.0f', now), 'PX', ARGV[1])
if now > 0 then
	redis.call('decrby', KEYS[1], 1)
elseif was and was > 0 then
	open()
else
	redis.call('del', KEYS[4], KEYS[5]) -- which an opening by Redisson leaves
	redis.call('del', KEYS[1])
end
return now
