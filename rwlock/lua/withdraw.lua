-- withdraw.lua: take back the claim of a client whose writer waits no more, and tell the readers.
--
-- KEYS[1]  claims: zset of clients whose writers wait and go first
-- ARGV[1]  client
-- ARGV[2]  channel of releases
-- ARGV[3]  publish or spublish
--
-- Returns  1  it had one; 0  it had none
-- Replay   safe: a second run finds it gone
if redis.call('zrem', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.pcall(ARGV[3], ARGV[2], '1')
return 1
