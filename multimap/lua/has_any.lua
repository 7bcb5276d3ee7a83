-- has_any.lua: whether one of some keys has a value.
--
-- Include: key.lua
-- KEYS[1]   index
-- KEYS[2]   when keys end
-- KEYS[i…]  values of each key
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   list or set
-- ARGV[3…]  keys; the last is the value
--
-- Returns  integer  1 one of them has, 0 none has
-- Replay   reads: it changes nothing
for i = 3, #ARGV - 1 do
	if lives(ARGV[i], ARGV[1], KEYS[i]) then
		if ARGV[2] == 'list' and redis.call('lpos', KEYS[i], ARGV[#ARGV])
			or ARGV[2] ~= 'list' and redis.call('sismember', KEYS[i], ARGV[#ARGV]) == 1 then
			return 1
		end
	end
end
return 0
