-- keep_key.lua: the part of keep.lua that is about one key, for when the slot moves and the keys are apart.
--
-- KEYS[i]  a key of the i-th party
-- ARGV[i]  how long it stays, ms
--
-- Returns  array  for each 1 it stays; 0 gone
-- Replay   safe: a time to live only grows
local answers = {}
for i, key in ipairs(KEYS) do
	local left = redis.call('pttl', key)
	answers[i] = left == -2 and 0 or 1
	if left > -1 and left < tonumber(ARGV[i]) then
		redis.call('pexpire', key, ARGV[i])
	end
end
return answers
