-- page.lua: some entries of a time series that have not expired, for a walk.
--
-- Include: living.lua
-- KEYS[1]  time series
-- KEYS[2]  when its entries end
-- ARGV[1]  the caller's clock, ms
-- ARGV[2]  1: the last entry comes first, 0: the first one
-- ARGV[3]  the first time, as ZCOUNT takes it
-- ARGV[4]  the last time
-- ARGV[5]  how many entries at most
-- ARGV[6]  bytes at most, about
-- ARGV[7]  how many entries are looked at, at most
-- ARGV[8]  the time of the entry after which to go on; empty: from the start
-- ARGV[9]  that entry, which may be gone
--
-- Returns  array  {entries, each followed by its time; the time of the entry after which to go on, empty: there are no others; that
--                 entry, empty: it is the last of these}
-- Replay   reads: it changes nothing
local found, time, last = living()
return {found, time, last}
