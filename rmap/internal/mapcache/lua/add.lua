-- add.lua: add a number to the one in an entry, whose times stay; to none: 0.
--
-- Include: store.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6]   lease of who loads the entry
-- KEYS[7…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   key
-- ARGV[5]   hincrby or hincrbyfloat
-- ARGV[6]   how much more
-- ARGV[7]   idle time, as it stands before the value
-- ARGV[8]   when it ends, ms; empty: when the one that was there does, or never; 0: never
-- ARGV[9]   when it has rested for too long, ms; empty: by the idle time of the one that was there, or never
-- ARGV[10]  least result, as a number of Lua has it; none if empty
-- ARGV[11]  most, likewise
--
-- Runs     hincrby hincrbyfloat
-- Returns  array  {what the bound needs, see store.lua; the sum, as text, or nil: it would be out of bounds;
--                 how many entries it has evicted}
-- Replay   once: a second run adds again; with an id it changes nothing
local was, answer = known()
if was then
	return {0, answer, 0}
end
local old, rest = live(ARGV[4])
changing()
-- The server counts, exactly, in a field that nobody sees: Redisson's, or a longer one if an entry has that name.
local scratch = 'temp_val__redisson'
while redis.call('hexists', KEYS[1], scratch) == 1 do
	scratch = scratch .. '_'
end
redis.call('hset', KEYS[1], scratch, old and string.sub(old, 17) or '0')
local wrong = redis.pcall(ARGV[5], KEYS[1], scratch, ARGV[6])
local sum = redis.call('hget', KEYS[1], scratch)
redis.call('hdel', KEYS[1], scratch)
if type(wrong) == 'table' then
	return wrong
end
-- The embedded server reads a large one as a float only, and one that no float holds not at all.
local n = tonumber(sum) or tonumber(sum .. '.0')
if not n or ARGV[10] ~= '' and n < tonumber(ARGV[10]) or ARGV[11] ~= '' and n > tonumber(ARGV[11]) then
	return {0, done(false), 0}
end
local packed, left = ARGV[7] .. size(#sum) .. sum
if old then
	left = replace(ARGV[4], packed, ARGV[8], ARGV[9], old, rest)
else
	left = write(ARGV[4], packed, ARGV[8], ARGV[9])
end
redis.call('del', KEYS[6])
return {left, done(sum), evicted}
