-- lane.lua: the last request of a lane, as "<number> <what it took> <its answer>".

-- known is the answer of this very request if it ran before, {-1} if a later one did, and else nil. What is known is
-- written again, for who waits until replicas have it. Its end stays, by which one tells when the request ran.
local function known()
	local last = redis.call('get', KEYS[2])
	if not last then
		return nil
	end
	local n, rest = string.match(last, '^(%d+) %d+(.*)$')
	if tonumber(n) > tonumber(ARGV[1]) then
		return {-1}
	elseif tonumber(n) < tonumber(ARGV[1]) then
		return nil
	end
	redis.call('pexpire', KEYS[2], math.max(1, redis.call('pttl', KEYS[2])))
	local answer = {}
	for k in string.gmatch(rest, '%-?%d+') do
		answer[#answer + 1] = tonumber(k)
	end
	return answer
end

-- remember makes this request the lane's last.
local function remember(took, answer)
	redis.call('set', KEYS[2], ARGV[1] .. ' ' .. string.format('%.0f', took) .. ' ' .. table.concat(answer, ' '), 'PX', ARGV[2])
end
