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
-- Returns  integer  how many have gone
-- Replay   safe: no more go than are too many
local n = tonumber(ARGV[1])
local over = math.max(redis.call('hlen', KEYS[1]) - most, weighed and excess(n) or 0)
if over <= 0 then
	return 0
end
return evict(math.min(over, n))
