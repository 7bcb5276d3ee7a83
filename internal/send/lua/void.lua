-- void.lua: end a request of which nobody knows whether it ran: if it has not, it never will.
--
-- KEYS[1]  lane of the request
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
--
-- Returns  integer  1 it will not run, 0 it has run, or a later one has
-- Replay   safe: it leaves the lane as it is behind the first run
redis.call('pexpire', KEYS[1], ARGV[2]) -- which a full server does not refuse, so that it lets those behind it pass
local last = redis.call('get', KEYS[1])
if last and tonumber(string.match(last, '^%d+')) >= tonumber(ARGV[1]) then
	return 0
end
redis.call('set', KEYS[1], ARGV[1] .. ' 0 void', 'PX', ARGV[2])
return 1
