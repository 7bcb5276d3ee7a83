-- announce.lua: say who leads, and with which value.
--
-- KEYS[1]  lock hash, the name itself: field = owner
-- KEYS[2]  term: hash of owner, token, after, version and value; after is the token of the term before
-- ARGV[1]  owner, who has to hold the lock
-- ARGV[2]  fencing token of the term
-- ARGV[3]  version of the value, which rises within the term
-- ARGV[4]  value
-- ARGV[5]  how long the term is kept, ms
-- ARGV[6]  publish or spublish
-- ARGV[7]  channel of the term
--
-- Returns  0  the owner does not hold the lock; 1  this version, or a later one, was there; 2  it was written and told
-- Replay   safe: a version that is there is not written again, and no earlier one, nor one of an owner who has left
local call = redis.call
local own, term = ARGV[1], KEYS[2]
if call('hexists', KEYS[1], own) == 0 then
	return 0
end
local there = call('hmget', term, 'owner', 'version', 'token') -- or WRONGTYPE, before anything is written
-- First a write that a full server does not refuse.
call('pexpire', term, ARGV[5])
if there[1] == own and (tonumber(there[2]) or 0) >= tonumber(ARGV[3]) then
	return 1
end
if there[1] ~= own then
	call('hset', term, 'after', there[3] or 0)
end
call('hset', term, 'owner', own, 'token', ARGV[2], 'version', ARGV[3], 'value', ARGV[4])
call('pexpire', term, ARGV[5])
-- pcall: an ACL that denies the channel must not turn it into an error.
redis.pcall(ARGV[6], ARGV[7], ARGV[2])
return 2
