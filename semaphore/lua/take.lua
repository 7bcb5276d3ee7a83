-- take.lua: the common case of move.lua: one caller takes permits, or gets none.
--
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- ARGV[1]  how many
-- ARGV[2]  number of the request, a space, and how many
-- ARGV[3]  how long a lane is remembered, ms
--
-- Returns  integer  1 taken, 0 refused; -1: an older request that comes late, and takes nothing
--          nil      there is no such semaphore
-- Replay   safe: the lane knows the request; one that was refused may be decided anew
local got = redis.call('mget', KEYS[1], KEYS[2])
local last = got[2]
if last == ARGV[2] then
	redis.call('pexpire', KEYS[2], ARGV[3]) -- a write, for who waits until replicas have it
	return 1
end
if last and tonumber(string.match(last, '^%d+')) >= tonumber(string.match(ARGV[2], '^%d+')) then
	return -1
end
local free = got[1] and (string.match(got[1], '^%-?[1-9]%d*$') or got[1] == '0') and #got[1] <= 16 and tonumber(got[1])
if not free then
	local kind = redis.call('type', KEYS[1])
	kind = kind.ok or kind
	if kind == 'none' then
		return nil
	end
	kind = got[1] and 'string that is no integer' or kind
	return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a number of permits')
end
if free < tonumber(ARGV[1]) then
	return 0
end
redis.call('decrby', KEYS[1], ARGV[1])
redis.call('set', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
