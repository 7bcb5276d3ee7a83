-- remove_at.lua: remove the element of an index.
--
-- KEYS[1]  list
-- ARGV[1]  index, from 0; negative: from the end
-- ARGV[2]  16 random bytes, which mark it
--
-- Returns  text  what was there; nil: there is no such index, and nothing was done
-- Replay   unsafe: a second run removes another one
local at = tonumber(ARGV[1])
if at == 0 then
	return redis.call('lpop', KEYS[1])
elseif at == -1 then
	return redis.call('rpop', KEYS[1])
end
local old = redis.call('lindex', KEYS[1], ARGV[1])
if old then
	redis.call('lset', KEYS[1], ARGV[1], ARGV[2])
	local done = redis.pcall('lrem', KEYS[1], at < 0 and -1 or 1, ARGV[2])
	if type(done) == 'table' then -- the user may not
		redis.call('lset', KEYS[1], ARGV[1], old)
		return done
	end
end
return old
