-- alike.lua: what the scripts begin with whose callers all want the same: known is how many of them got it, where the
-- lane knows the request, or -1 where it knows a later one; free is the number of permits. No functions: making one
-- costs the server more than what these scripts do.
local got, known = redis.call('mget', KEYS[1], KEYS[2])
if got[2] then
	local older = string.match(got[2], '^%d+') - ARGV[2]
	if older == 0 and string.find(got[2], ' none', 1, true) then
		redis.call('pexpire', KEYS[2], math.max(1, redis.call('pttl', KEYS[2])))
		return nil
	elseif older >= 0 then
		known = tonumber(older == 0 and string.match(got[2], ' %d+ (%d+)$') or -1)
		if known >= 0 then
			-- A write, for who waits until replicas have it. The end stays: settle.lua tells by that when the request ran.
			redis.call('pexpire', KEYS[2], math.max(1, redis.call('pttl', KEYS[2])))
		end
	end
end
local free = got[1] and (string.match(got[1], '^%-?[1-9]%d*$') or got[1] == '0') and #got[1] <= 16 and tonumber(got[1])
if not known and not free then
	local kind = redis.call('type', KEYS[1])
	kind = kind.ok or kind
	if kind == 'none' then
		if #ARGV > 4 then -- a further send of a give that finds permits gives nothing either. pcall: a full server forgets that
			redis.pcall('set', KEYS[2], ARGV[2] .. ' 0 none', 'PX', ARGV[3])
		end
		return nil
	end
	kind = got[1] and 'string that is no integer' or kind
	return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a number of permits')
end
