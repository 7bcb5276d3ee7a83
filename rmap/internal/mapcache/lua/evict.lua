-- evict.lua: drop some of the entries that a cache has too many of.
--
-- Include: bound.lua
-- KEYS[1]  hash
-- KEYS[2]  times to live
-- KEYS[3]  idle times
-- KEYS[4]  accesses
-- KEYS[5]  options
-- ARGV[1]  how many at most
-- ARGV[2]  the caller's clock, ms
-- ARGV[3]  publish or spublish
--
-- Returns  array  {how many have gone, how many are too many still}
-- Replay   safe: no more go than are too many
local over = bounded and redis.call('hlen', KEYS[1]) - most or 0
if over <= 0 then
	return {0, 0}
end
local gone = evict(math.min(over, tonumber(ARGV[1])))
return {gone, over - gone}
