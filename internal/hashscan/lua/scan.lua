-- scan.lua: a page of a walk through a map.
--
-- Include: runid.lua
-- Include: walk.lua
-- KEYS[1]   map
-- ARGV[1]   where to go on; 0: from the start
-- ARGV[2]   how many fields to ask for first
-- ARGV[3]   how many at most, about
-- ARGV[4]   bytes at most, about
-- ARGV[5]   1: with values, 0: names alone
-- ARGV[6…]  more words of HSCAN
--
-- Returns  array  {where to go on, 0: that was all; {key, value, …}, or {key, …}; fields passed; bytes read; what the
--                 server calls itself, empty: it does not tell, or that was all in one; keys whose values there was no
--                 room for}
-- Replay   reads: it changes nothing
local next, found, passed, bytes, left = pages(KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]),
	{unpack(ARGV, 6)}, ARGV[5] == '1')
return {next, found, passed, bytes, (next ~= '0' or ARGV[1] ~= '0') and runid() or '', left}
