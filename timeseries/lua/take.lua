-- take.lua: remove some entries of a time series that have not expired. Expired ones stay for the sweeper.
--
-- Include: ids.lua
-- Include: living.lua
-- KEYS[1]   time series
-- KEYS[2]   when its entries end
-- KEYS[3]   the counter of a newer Redisson
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   1: the last entry comes first, 0: the first one
-- ARGV[3]   the first time, as ZCOUNT takes it
-- ARGV[4]   the last time
-- ARGV[5]   how many entries at most
-- ARGV[6]   bytes at most, about
-- ARGV[7]   how many entries are looked at, at most
-- ARGV[8]   the time of the entry after which to go on; empty: from the start
-- ARGV[9]   that entry, which may be gone
-- ARGV[10]  1: the entries are wanted, 0: how many there were
--
-- Returns  array  {entries, each followed by its time; the time of the entry after which to go on, empty: there are no others; that
--                 entry, empty: it is the last of these}
--                 {how many; that time; that entry, or how it begins if it was removed}
-- Replay   unsafe: what it removed is in the answer alone
local found, time, last = living()
if #found > 0 then
	redis.call('zrem', KEYS[2], '') -- what the user may not do is refused here, before anything has changed
end
for i = 1, #found, 128 do
	local names = {}
	for j = i, math.min(i + 127, #found), 2 do
		names[#names + 1] = found[j]
	end
	redis.call('zrem', KEYS[1], unpack(names))
	redis.call('zrem', KEYS[2], unpack(names))
end
if #found > 0 and redis.call('exists', KEYS[1]) == 0 then
	forget(KEYS[3])
end
if ARGV[10] == '1' then
	return {found, time, last}
end
return {#found / 2, time, last ~= '' and last or #found > 0 and found[#found - 1]:sub(1, 64) or ''} -- which comes before it, and after others
