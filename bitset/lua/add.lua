-- add.lua: add to a number bit by bit, where the server has no command for that.
--
-- KEYS[1]  string
-- ARGV[1]  offset of the number's highest bit
-- ARGV[2]  the bits of what is added, one character each
--
-- Returns  array  the bits of the sum
-- Replay   once: a second run adds twice
local carry, sum = 0, {}
for i = #ARGV[2], 1, -1 do
	local at = string.format('%.0f', ARGV[1] + i - 1)
	local n = redis.call('getbit', KEYS[1], at) + tonumber(string.sub(ARGV[2], i, i)) + carry
	sum[i], carry = n % 2, math.floor(n / 2)
	redis.call('setbit', KEYS[1], at, sum[i])
end
return sum
