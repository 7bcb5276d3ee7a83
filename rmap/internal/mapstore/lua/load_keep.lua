-- load_keep.lua: keep the lease of a load whose outcome the server refuses to take for the moment. It takes no memory, so
-- that a full server does it, too.
--
-- Include: lease.lua
-- KEYS[1]  lease of who loads the entry
-- ARGV[1]  the caller's token
-- ARGV[2]  how long the lease is, ms
--
-- Returns  integer  1 it is the caller's; 0 it is not any more
-- Replay   safe: the time only begins anew
if not leased(KEYS[1], ARGV[1]) then
	return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
