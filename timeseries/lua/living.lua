-- living.lua: some entries of a time series that have not expired, in the order of their times. The arguments of scripts that include
-- it are the caller's clock, ms; 1: the last entry comes first, else 0; the first and the last time, as ZCOUNT takes them; how many
-- entries at most; how many bytes at most, about; how many entries are looked at, at most; and the time of an entry, which may be gone,
-- and that entry, to go on after it, or an empty time.
--
-- Include: bounds.lua
-- Include: place.lua
-- Runs     zrange zrevrange

-- lives reports whether an entry lives at a time. One without an end was not written by Redisson.
local function lives(ends, now)
	return not ends or ends == 'inf' or tonumber(ends) > now
end

-- living returns entries, each followed by its time; where to go on after them: a time, empty if there are no others, and an entry,
-- empty if it is the last one returned. It reads one first, and then at most four times as many as the last time: 8 at most, or a
-- quarter of those before, up to 64. Large ones may follow small ones. How many are wanted bounds a read after an entry that lives. After one that has expired the next ones may have, too.
local function living()
	local key, now, back = KEYS[1], tonumber(ARGV[1]), ARGV[2] == '1'
	local most, limit, looks = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
	local card = redis.call('zcard', key)
	local low, high = bounds(key, card, ARGV[3], ARGV[4])
	local at, to = back and card - high or low, back and card - low or high
	if ARGV[8] ~= '' then
		at = math.max(at, past(key, back, ARGV[8], ARGV[9]))
	end
	local found, bytes, looked, count, time, last = {}, 0, 0, 1, '', ''
	redis.call('zcard', KEYS[2]) -- a key of another type is refused, also if there are no entries
	while at < to and looked < looks and #found < 2 * most do
		count = math.min(count, to - at, looks - looked, #found > 0 and last == '' and most - #found / 2 or count)
		local got, names = redis.call(back and 'zrevrange' or 'zrange', key, at, at + count - 1, 'WITHSCORES'), {}
		for i = 1, #got, 2 do -- those that there is no room for are not looked up
			bytes = bytes + #got[i]
			if bytes > limit and looked + #names > 0 then
				break
			end
			names[#names + 1] = got[i]
		end
		for i, ends in ipairs(#names > 0 and redis.call('zmscore', KEYS[2], unpack(names)) or {}) do
			at, looked, time, last = at + 1, looked + 1, got[2 * i], names[i]
			if lives(ends, now) then
				found[#found + 1] = last
				found[#found + 1] = time
				last = ''
			end
			if #found == 2 * most then
				break
			end
		end
		if bytes > limit then
			break
		end
		local like = math.max(1, math.floor((limit - bytes) * looked / math.max(bytes, 1))) -- if the next ones are like these
		count = math.min(4 * count, math.max(8, math.floor(looked / 4)), 64, like)
	end
	if at < to then
		return found, time, last
	end
	return found, '', ''
end
