-- peek.lua: entries with the times to live that they have.
--
-- KEYS[1]   map
-- ARGV[1]   1: with the values, 0: their times alone
-- ARGV[2…]  fields
--
-- Returns  array  for each field {the value, or nothing; how long it stays, ms, -1: it has no end}; or nil: there is none
-- Replay   reads: it changes nothing
local all = {}
for i = 2, #ARGV do
	local text = redis.call('hget', KEYS[1], ARGV[i])
	all[i - 1] = text and {ARGV[1] == '1' and text or '', redis.call('hpttl', KEYS[1], 'FIELDS', 1, ARGV[i])[1]} or false
end
return all
