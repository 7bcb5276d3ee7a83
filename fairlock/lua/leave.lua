-- leave.lua: take an owner out of the queue, and give the lock back if it has it.
-- Include: queue.lua
--
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  queue
-- KEYS[3]  deadlines
-- KEYS[4]  processes of ours that are alive
-- KEYS[5]  tombstones: zset of owners that were given back, score = when, ms
-- ARGV[1]  owner
-- ARGV[2]  queue: its place only; quit: the lock too; bury: and never let it have either again, as a send of it may
--          still be on its way
-- ARGV[3]  publish or spublish
-- ARGV[4]  what it proves that nobody hears: 0 nothing, 1 that nobody is there, 2 that of one that was heard where the slot is
-- ARGV[5]  channel of releases, to Redisson's waiters
-- ARGV[6]  channel of turns, to ours
-- ARGV[7]  how long a process is alive, ms
-- ARGV[8]  how long a tombstone stands, ms
--
-- Returns  0 it was nowhere; 1 it was queued; 2 it held the lock
-- Replay   safe: a second run finds nothing to take out, and may tell the front once more
local own = ARGV[1]
me, slots = client(own), ARGV[4] ~= '1'
local held = call('exists', N) == 1
-- The first write is one that a full server does not refuse.
call('zrem', T, own)
local length = call('llen', Q)
local was = call('lrem', Q, 1, own)
length = length - was
if was > 0 and length == 0 then
	call('del', A) -- of nobody's concern any more
end
if ARGV[2] == 'bury' then
	call('zadd', KEYS[5], ms(now()), own)
	call('zremrangebyscore', KEYS[5], '-inf', ms(now() - ARGV[8]))
	call('pexpire', KEYS[5], ARGV[8])
end
if ARGV[2] ~= 'queue' and held and call('hdel', N, own) == 1 then
	was, held = 2, false
end
if was > 0 and not held and length > 0 then
	tell(front(ARGV[7]), ARGV[3], ARGV[4], ARGV[5], ARGV[6])
end
return was
