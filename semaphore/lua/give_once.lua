-- give_once.lua: give permits, once for each request id of the caller's.
--
-- Include: permits.lua
-- Include: announce.lua
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  the request: how many it gave
-- ARGV[1]  how many it gives
-- ARGV[2]  how long the request is remembered, ms
-- ARGV[3]  channel of given permits
-- ARGV[4]  publish or spublish
--
-- Returns  array  {how many subscribers the message reached, how many the request gave, now or before; 0: it would be too many}
--          nil    there is no such semaphore
-- Replay   safe: the request is known by its id
local gave = redis.call('get', KEYS[2])
if gave then
	return {0, tonumber(gave)}
end
local was, wrong = free()
if not was then
	return wrong
end
local now = was + ARGV[1]
if now > most then
	return {0, 0}
end
-- First a write that a full server does not refuse: it lets those behind it pass.
redis.call('pexpire', KEYS[2], ARGV[2])
redis.call('incrby', KEYS[1], ARGV[1])
redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {announce(ARGV[4], ARGV[3], now), tonumber(ARGV[1])}
