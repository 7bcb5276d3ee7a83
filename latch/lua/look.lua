-- look.lua: how often a latch is still to be counted down, and when it opened last.
--
-- Include: count.lua
-- Include: opened.lua
-- Include: armed.lua
-- KEYS[1]  count, the name itself: decimal
-- KEYS[2]  who has counted down since it was armed
-- KEYS[3]  when it opened last, µs
-- KEYS[4]  when it was armed, µs
--
-- Returns  array  {the count, 0 if there is none; when it opened last, 0 if nobody remembers; when it was armed, 0 if nobody
--                 knows; in how many ms it opens by itself, below 0: never}
-- Replay   safe: it reads, and clears away what an opening by Redisson left
local count, wrong = left()
if wrong then
	return wrong
end
if (count or 0) <= 0 then
	redis.pcall('del', KEYS[2], KEYS[4]) -- pcall: who may only read shall pass, too
end
return {count or 0, opened(), armed(KEYS[4]), redis.call('pttl', KEYS[1])}
