-- look.lua: how often a latch is still to be counted down, and when it opened last.
--
-- Include: count.lua
-- KEYS[1]  count, the name itself: decimal
-- KEYS[2]  when it opened last, µs
--
-- Returns  array  {the count, 0 if there is none; when it opened last, 0 if nobody remembers}
-- Replay   safe: it only reads
local count, wrong = left()
if wrong then
	return wrong
end
return {count or 0, tonumber(redis.call('get', KEYS[2]) or '0')}
