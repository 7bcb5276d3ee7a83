-- rule.lua: how a rule is kept.
--
-- It is "tb1 generation reset n per burst type paused nonce", per in ns; and one that goes when nobody has used it for a
-- time has that at its end, in ms, and as its time to live. While it is paused it stays.

-- keep writes a rule; ttl is '' for one that stays.
local function keep(key, text, paused, ttl)
	if ttl ~= '' then
		text = text .. ' ' .. ttl
	end
	if ttl == '' or paused ~= '0' then
		redis.call('SET', key, text)
	else
		redis.call('SET', key, text, 'PX', ttl)
	end
	return text
end

-- used has a rule live on. Where nothing can be written, it is read all the same.
local function used(key, text)
	local ttl = string.match(text, '^tb1 %d+ %d+ %d+ %d+ %d+ %d+ 0 %S+ (%d+)$')
	if ttl and redis.call('PTTL', key) <= ttl * 0.9 then
		redis.pcall('PEXPIRE', key, ttl)
	end
	return text
end
