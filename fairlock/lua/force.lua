-- force.lua: take the lock away from whoever holds it, and tell the next one.
-- Include: queue.lua
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  queue
-- KEYS[3]  deadlines
-- KEYS[4]  processes of ours that are alive
-- ARGV[1]  client
-- ARGV[2]  publish or spublish
-- ARGV[3]  what it proves that nobody hears: 0 nothing, 1 that nobody is there, 2 that of one that was heard where the slot is
-- ARGV[4]  channel of releases, to Redisson's waiters
-- ARGV[5]  channel of turns, to ours
-- ARGV[6]  how long a process is alive, ms
--
-- Returns  1  somebody held it; 0  nobody did; or an error: FAMILY and what else
--          the name is, "rwlock" or "group"
-- Replay   unsafe: a second run would take the lock from the next holder
if call('exists', N) == 0 then
	return 0
end
me, slots = ARGV[1], ARGV[3] ~= '1'
if call('hexists', N, 'mode') == 1 then -- or WRONGTYPE: rather than the loss of somebody's data
	return redis.error_reply('FAMILY rwlock')
elseif call('hlen', N) > 1 then
	return redis.error_reply('FAMILY group')
end
local h = behind(ARGV[6])
call('del', N)
tell(h, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
return 1
