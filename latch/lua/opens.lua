-- opens.lua: the opening of a generation of a barrier.

-- opens lets all pass who have arrived for the present generation. Those who wait are the caller's to remove.
local function opens(gen)
	redis.call('zadd', KEYS[3], whole(now), gen)
	redis.call('zremrangebyscore', KEYS[3], '-inf', whole(now - ARGV[1]))
	redis.call('pexpire', KEYS[3], ARGV[1])
	over(gen)
end
