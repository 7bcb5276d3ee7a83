-- put_many.lua: write entries, whatever was there.
--
-- Include: store.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6…]  for each key the lease of who loads it; then what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   when they end, ms; empty: never; =: the times of each are those of the one that is there
-- ARGV[5]   when they have rested for too long, ms; empty: never
-- ARGV[6…]  key and entry as the hash has it, for each
--
-- Returns  array  {what the bound needs, see store.lua; 1; how many entries it has evicted}
-- Replay   unsafe: a second run overwrites what others wrote in between; with an id it changes nothing
local count = (#ARGV - 5) / 2
local was, answer = known()
if was then
	return {0, answer, 0}
end
local left = 0
for i = 6, #ARGV, 2 do
	local old, rest
	if told or ARGV[4] == '=' then
		old, rest = live(ARGV[i])
	end
	left = math.max(left, put(ARGV[i], ARGV[i + 1], ARGV[4], ARGV[5], old, rest))
end
redis.call('del', unpack(KEYS, 6, 5 + count))
return {left, done(1), evicted}
