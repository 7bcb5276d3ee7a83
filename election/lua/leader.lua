-- leader.lua: who leads. A script, since commands that only read may be routed to a replica.
--
-- KEYS[1]  lock hash, the name itself: field = owner
-- KEYS[2]  term: hash of owner, token, after, version and value
--
-- Returns  array  remaining lease of the holder in ms, -1: it has none, -2: nobody holds the lock;
--                 the token of the last term, 0: none is known; and of the term under way, if there is one:
--                 its owner, the token of the term before it, the value
--          error  FAMILY rwlock: that is what the name is
-- Replay   reads: it changes nothing
local call = redis.call
if call('hexists', KEYS[1], 'mode') == 1 then
	return redis.error_reply('FAMILY rwlock')
end
local left = call('pttl', KEYS[1])
local there = call('hmget', KEYS[2], 'token', 'owner', 'after', 'value')
local last = tonumber(there[1] or 0) or 0
if not there[2] or call('hexists', KEYS[1], there[2]) == 0 then
	return {left, last}
end
return {left, last, there[2], tonumber(there[3] or 0) or 0, there[4] or ''}
