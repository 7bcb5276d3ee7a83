-- add.lua: add to an integer entry, within bounds.
--
-- Include: done.lua
-- KEYS[1]   map
-- KEYS[2…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
-- ARGV[3]   what is added
-- ARGV[4]   least result, at most 15 digits; none if empty
-- ARGV[5]   most, likewise
--
-- Returns  text  the sum
--          nil   it would be out of bounds, and nothing was changed
-- Replay   unsafe: a second run adds again; with an id it is safe
local was, answer = known()
if was then
	return answer
end
-- The sum is read as text: as a number of Lua it loses digits.
redis.call('hincrby', KEYS[1], ARGV[2], ARGV[3])
local sum = redis.call('hget', KEYS[1], ARGV[2])
local n = tonumber(sum)
if ARGV[4] ~= '' and n < tonumber(ARGV[4]) or ARGV[5] ~= '' and n > tonumber(ARGV[5]) then
	local back = string.sub(ARGV[3], 1, 1) == '-' and string.sub(ARGV[3], 2) or '-' .. ARGV[3]
	redis.call('hincrby', KEYS[1], ARGV[2], back)
	return done(false)
end
return done(sum)
