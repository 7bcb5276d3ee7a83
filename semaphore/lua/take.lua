-- take.lua: the common case of move.lua: callers who want equally many permits, and each gets them or none. It has no
-- functions, since making one costs the server more than what it does.
--
-- KEYS[1]  permits, the name itself: decimal
-- KEYS[2]  lane of the request
-- ARGV[1]  how many each wants
-- ARGV[2]  number of the request
-- ARGV[3]  how long a lane is remembered, ms
-- ARGV[4]  how many want them
--
-- Returns  integer  how many got them; -1: an older request that comes late, and takes nothing
--          nil      there is no such semaphore
-- Replay   safe: the lane knows the request; one that was refused may be decided anew
local got = redis.call('mget', KEYS[1], KEYS[2])
if got[2] then
	local n, k = string.match(got[2], '^(%d+) %d+ ?(%d*)')
	local older = tonumber(n) - ARGV[2]
	if older == 0 and k ~= '' then
		redis.call('pexpire', KEYS[2], ARGV[3]) -- a write, for who waits until replicas have it
		return tonumber(k)
	elseif older >= 0 then
		return -1
	end
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
local each = tonumber(ARGV[1])
if free < each then
	return 0
end
local k = math.min(tonumber(ARGV[4]), math.floor(free / each))
local took = string.format('%.0f', each * k)
redis.call('decrby', KEYS[1], took)
redis.call('set', KEYS[2], ARGV[2] .. ' ' .. took .. ' ' .. k, 'PX', ARGV[3])
return k
