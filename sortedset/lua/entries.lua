-- entries.lua: how much of a sorted set an answer has room for.
--
-- Runs     zrange zrevrange

-- entries returns members from a rank on, each followed by its score, and how many there are: at most most of them, and one at
-- least where there is one, with about limit bytes. If back, the order is that of falling scores. It reads one first, and
-- then at most four times as many as the last time: 8 at most, or a quarter of those before, up to 64. Large ones may follow small ones.
local function entries(key, back, rank, most, limit)
	local found, n, bytes, count = {}, 0, 0, math.min(1, most)
	while count > 0 do
		local got = redis.call(back and 'zrevrange' or 'zrange', key, rank + n, rank + n + count - 1, 'WITHSCORES')
		for i = 1, #got, 2 do
			bytes = bytes + #got[i]
			if bytes > limit and n > 0 then
				return found, n
			end
			found[2 * n + 1] = got[i]
			found[2 * n + 2] = got[i + 1]
			n = n + 1
		end
		if #got < 2 * count then
			return found, n
		end
		local like = math.max(1, math.floor((limit - bytes) * n / math.max(bytes, 1))) -- if the next ones are like these
		count = math.min(4 * count, math.max(8, math.floor(n / 4)), 64, like, most - n)
	end
	return found, n
end
