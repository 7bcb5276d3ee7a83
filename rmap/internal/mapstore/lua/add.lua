-- add.lua: add to an entry.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: unlease.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; with a time to live, who loads the entry; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
-- ARGV[3]   what is added
-- ARGV[4]   HINCRBY or HINCRBYFLOAT
-- ARGV[5]   least result, as a number of Lua has it; none if empty
-- ARGV[6]   most, likewise
-- ARGV[7]   time to live, ms; empty: what the entry has; 0: for ever
-- ARGV[8…]  what near caches are told, if they are; see announce.lua
--
-- Runs     hincrby hincrbyfloat
-- Returns  text  the sum
--          nil   it would be out of bounds, and nothing was changed
-- Replay   once: a second run adds again; with an id it is safe

-- back takes back what was added. Of floats that is not what was there before, so that is written, and its end, which
-- HSET takes away.
local function back(before)
	if ARGV[4] == 'HINCRBY' then
		local less = string.sub(ARGV[3], 1, 1) == '-' and string.sub(ARGV[3], 2) or '-' .. ARGV[3]
		redis.call(ARGV[4], KEYS[1], ARGV[2], less)
		return
	end
	if not before then
		redis.call('hdel', KEYS[1], ARGV[2])
		return
	end
	local ends = redis.pcall('hpexpiretime', KEYS[1], 'FIELDS', 1, ARGV[2])[1]
	redis.call('hset', KEYS[1], ARGV[2], before)
	if ends and ends > 0 then
		redis.call('hpexpireat', KEYS[1], string.format('%.0f', ends), 'FIELDS', 1, ARGV[2])
	end
end

local was, answer = known()
if was then
	return answer
end
announce(8)
if ARGV[7] ~= '' then
	-- Before anything is changed, as this server may not know it: no end is that early.
	redis.call('hpexpire', KEYS[1], 1, 'GT', 'FIELDS', 1, ARGV[2])
end
local before = ARGV[4] == 'HINCRBYFLOAT' and redis.call('hget', KEYS[1], ARGV[2])
-- The sum is read as text: as a number of Lua it loses digits.
redis.call(ARGV[4], KEYS[1], ARGV[2], ARGV[3])
local sum = redis.call('hget', KEYS[1], ARGV[2])
-- The embedded server reads a large one as a float only, and one that no float holds not at all.
local n = tonumber(sum) or tonumber(sum .. '.0')
if not n or ARGV[5] ~= '' and n < tonumber(ARGV[5]) or ARGV[6] ~= '' and n > tonumber(ARGV[6]) then
	back(before)
	return done(false)
end
if ARGV[7] == '0' then
	redis.call('hpersist', KEYS[1], 'FIELDS', 1, ARGV[2])
elseif ARGV[7] ~= '' then
	redis.call('hpexpire', KEYS[1], ARGV[7], 'FIELDS', 1, ARGV[2])
	unlease(ARGV[7], 1)
end
return done(sum)
