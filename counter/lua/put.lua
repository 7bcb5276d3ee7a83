-- put.lua: another number in the place of one.

-- put sets the number, which keeps its time to live. One without gets ms, unless that is 0.
local function put(text, ms)
	redis.call('set', KEYS[1], text, 'KEEPTTL')
	if ms ~= '0' and redis.call('pttl', KEYS[1]) == -1 then
		redis.call('pexpire', KEYS[1], ms)
	end
end
