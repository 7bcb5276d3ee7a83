-- permit_release.lua: the common case of permit_exchange.lua: a holder that trusts its lease gives a permit back. It has
-- no functions, since making one costs the server more than what it does.
--
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  leases: zset of the ids that are held, score = end of the lease, ms
-- ARGV[1]  id, 16 bytes
-- ARGV[2]  channel of given permits
-- ARGV[3]  publish or spublish
--
-- Returns  integer  how many subscribers the message reached; -1: the permit is not held
--          nil      there is no such semaphore
-- Replay   safe: the id is used once, so a second run finds it gone and changes nothing
local was = redis.pcall('get', KEYS[1])
-- What INCRBY would refuse is refused before anything is written.
if was and (type(was) ~= 'string' or was ~= '0' and not string.match(was, '^%-?[1-9]%d*$') or #was > 16) then
	local kind = redis.call('type', KEYS[1])
	kind = type(was) == 'string' and 'string that is no integer' or kind.ok or kind
	return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a number of permits')
end
local held = redis.pcall('zrem', KEYS[2], ARGV[1])
if type(held) == 'table' then
	if not string.find(held.err, 'WRONGTYPE', 1, true) then
		return held
	end
	local kind = redis.call('type', KEYS[2])
	return redis.error_reply('WRONGTYPE the key ' .. KEYS[2] .. ' holds a ' .. (kind.ok or kind) .. ', not leases of permits')
end
if not was then
	return nil
elseif held == 0 then
	return -1
end
local now = redis.call('incrby', KEYS[1], 1)
if now < 1 then
	return 0 -- Java bears no such number
end
-- pcall: an ACL that denies the channel must not turn a release into an error.
local reached = redis.pcall(ARGV[3], ARGV[2], now)
return type(reached) == 'number' and reached or 0
