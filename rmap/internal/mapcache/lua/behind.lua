-- behind.lua: change entries of a cache, and queue the changes for the store behind it.
--
-- Include: store.lua
-- Include: done.lua
-- Include: pending.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6]   stream of changes
-- KEYS[7]   which of them is the last of an entry
-- KEYS[8…]  for each key the lease of who loads it; then what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   how many changes may be queued
-- ARGV[5]   when they end, ms; empty: never; =: when those that are there do
-- ARGV[6]   when they have rested for too long, ms; empty: never; =: by the idle time of those that are there
-- ARGV[7]   what has to live there, of one entry: = and the value; empty: nothing; *: whatever
-- ARGV[8]   what names this call
-- ARGV[9…]  keys by turns with = and the entry as the hash has it, or nothing for what is removed
--
-- Returns  array  {what the bound needs, see store.lua; how many entries lived there, or what lives there instead,
--                 behind a =, or nothing, or nil: so many changes are queued; how many it has evicted}
-- Replay   once: somebody else may have written in between; with an id it is safe
local was, answer = known()
if was then
	return {0, answer, 0}
end
local n = (#ARGV - 8) / 2
if redis.call('xlen', KEYS[6]) + n > tonumber(ARGV[4]) then
	return {0, done(false), 0}
end
if ARGV[7] ~= '*' then
	local there = live(ARGV[9])
	if (there and '=' .. string.sub(there, 17) or '') ~= ARGV[7] then
		return {0, done(there and '=' .. there or ''), 0}
	end
end
-- What fails for good does so before anything is queued.
redis.call('hexists', KEYS[7], '')
for i = 2, 4 do
	redis.call('zscore', KEYS[i], '')
end
redis.call('hexists', KEYS[1], '')
changing()
local count, left = 0, 0
for i = 9, #ARGV, 2 do
	local to = string.sub(ARGV[i + 1], 2)
	-- What takes memory comes first, or a full server would let it pass behind what takes none.
	queue(KEYS[6], KEYS[7], ARGV[i], to == '' and '' or '=' .. string.sub(to, 17), ARGV[8])
	local old, rest = live(ARGV[i])
	count = count + (old and 1 or 0)
	if to ~= '' then
		left = math.max(left, put(ARGV[i], to, ARGV[5], ARGV[6], old, rest))
	else
		forget({ARGV[i]})
		if old and told then
			tell('removed', ARGV[i], old)
		end
	end
end
redis.call('del', unpack(KEYS, 8, 7 + n))
return {left, done(count), evicted}
