-- mark.lua: lengthen the life of a reader's own key, while its slot is on the move.
--
-- KEYS[1]  the reader's own key
-- ARGV[1]  lease, ms
--
-- Returns  array  {1}
-- Replay   safe: a lease only grows
local left = redis.call('pttl', KEYS[1])
if left < tonumber(ARGV[1]) then
	-- First a write that a full server does not refuse, and that changes nothing:
	-- it lets the next one pass. The key may have been evicted.
	redis.call('pexpire', KEYS[1], math.max(left, 1))
	redis.call('set', KEYS[1], 1, 'px', ARGV[1])
end
return {1}
