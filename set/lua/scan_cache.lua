-- scan_cache.lua: a page of a walk through a set with times to live.
--
-- Include: runid.lua
-- Include: page.lua
-- KEYS[1]  set
-- ARGV[1]  where to go on; 0: from the start
-- ARGV[2]  how many members to ask for first
-- ARGV[3]  how many at most, about
-- ARGV[4]  bytes at most, about
--
-- Returns  array  {where to go on, 0: that was all; {members, each with when it ends}; members passed; bytes read; what the server calls
--                 itself, empty: it does not tell, or that was all in one; an empty array}
-- Replay   reads: it changes nothing
local next, found, passed, bytes = page(function(cursor, n)
	return redis.call('zscan', KEYS[1], cursor, 'COUNT', n)
end, 2)
return {next, found, passed, bytes, (next ~= '0' or ARGV[1] ~= '0') and runid() or '', {}}
