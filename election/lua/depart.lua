-- depart.lua: take back what a leader has said, and tell that it has gone. The token stays, for the next leader's after.
--
-- KEYS[1]  term: hash of owner, token, after, version and value
-- ARGV[1]  owner, whose hold has ended
-- ARGV[2]  publish or spublish
-- ARGV[3]  channel of the term
--
-- Returns  1  done; 0  the term is another's already, or was taken back
-- Replay   safe: the owner never holds the lock again, so a second run finds nothing of it
if redis.call('hget', KEYS[1], 'owner') ~= ARGV[1] then
	return 0
end
redis.call('hdel', KEYS[1], 'owner', 'after', 'version', 'value')
redis.pcall(ARGV[2], ARGV[3], '0')
return 1
