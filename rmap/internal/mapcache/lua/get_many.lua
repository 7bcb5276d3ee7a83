-- get_many.lua: read entries, which counts as an access to each.
--
-- Include: entry.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- ARGV[1]   how accesses are noted: LRU, LFU, or empty: not at all
-- ARGV[2]   the caller's clock, ms
-- ARGV[3…]  keys
--
-- Returns  array  for each key the entry as the hash has it, or nil
-- Replay   safe: the second access is one like the first, and of no weight
-- note notes an access; see get.lua.
local function note(how, side, by, key)
	if type(redis.pcall(how, side, by, key)) == 'table' then
		redis.call('zremrangebyrank', side, 1, 0)
		redis.call(how, side, by, key)
	end
end

local function used(key)
	if ARGV[1] == 'LFU' then
		note('zincrby', KEYS[4], 1, key)
	elseif ARGV[1] == 'LRU' then
		note('zadd', KEYS[4], ARGV[2], key)
	end
end

local names = {unpack(ARGV, 3)}
local found = redis.call('hmget', KEYS[1], unpack(names))
local ends = redis.call('zmscore', KEYS[2], unpack(names))
for i, packed in ipairs(found) do
	if packed and over(ends[i]) then
		found[i] = false
	elseif packed then
		local rest = idle(packed)
		if rest > 0 and over(redis.call('zscore', KEYS[3], names[i])) then
			found[i] = false
		else
			if rest > 0 then
				note('zadd', KEYS[3], string.format('%.0f', now + rest), names[i])
			end
			used(names[i])
		end
	end
end
return found
