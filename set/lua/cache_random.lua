-- cache_random.lua: some members that live, at random.
--
-- KEYS[1]   set
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   bytes at most, about
-- ARGV[i…]  a random number for each member: 0 or more, less than 1
--
-- Returns  array  {1 if these are all that live, else 0; different members}
-- Replay   reads: it changes nothing
local expired = redis.call('zcount', KEYS[1], '-inf', ARGV[1])
local alive, limit = redis.call('zcard', KEYS[1]) - expired, tonumber(ARGV[2])
local n, found, bytes, moved = math.min(#ARGV - 2, alive), {}, 0, {}
for i = 1, n do -- a shuffle from the front: its first members are any choice, wherever it ends
	local j = i - 1 + math.floor(tonumber(ARGV[i + 2]) * (alive - i + 1))
	local at = moved[j] or j
	moved[j] = moved[i - 1] or i - 1
	local name = redis.call('zrange', KEYS[1], expired + at, expired + at)[1]
	bytes = bytes + #name
	if i > 1 and bytes > limit then
		break
	end
	found[i] = name
end
return {#found == alive and 1 or 0, found}
