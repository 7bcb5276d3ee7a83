-- scan.lua: a page of the entries. Looking is no access.
--
-- Include: entry.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- ARGV[1]   where to go on; 0: from the start
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   1: with times; else empty
-- ARGV[4…]  more words of HSCAN
--
-- Returns  array  {where to go on, 0: that was all; {key, entry as the hash has it, …}, those that have not expired; with
--                 times {key, entry, when it ends, when it has rested for too long, …}, ms, empty for never}
-- Replay   safe: it only reads
local page = redis.call('hscan', KEYS[1], ARGV[1], unpack(ARGV, 4))
local found, names, living = page[2], {}, {}
for i = 1, #found, 2 do
	names[#names + 1] = found[i]
end
if #names == 0 then
	return page
end
for first = 1, #names, 5000 do -- what HSCAN returns has no bound
	local last = math.min(first + 4999, #names)
	local ends = redis.call('zmscore', KEYS[2], unpack(names, first, last))
	for i = first, last do
		local packed, at = found[2 * i], ends[i - first + 1]
		local rests = idle(packed) > 0 and redis.call('zscore', KEYS[3], names[i])
		if not over(at) and not over(rests) then
			living[#living + 1] = names[i]
			living[#living + 1] = packed
			if ARGV[3] == '1' then
				living[#living + 1] = at or ''
				living[#living + 1] = rests or ''
			end
		end
	end
end
return {page[1], living}
