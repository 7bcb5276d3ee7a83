-- add_all.lua: add members if none of them is there.
--
-- KEYS[1]   set
-- ARGV[i…]  members
--
-- Returns  integer  1 they were added, 0 one is there, and nothing was added
-- Replay   once: a second run finds what the first has added
local some = 5000 -- of what a call takes
for i = 1, #ARGV, some do
	for _, is in ipairs(redis.call('smismember', KEYS[1], unpack(ARGV, i, math.min(i + some - 1, #ARGV)))) do
		if is == 1 then
			return 0
		end
	end
end
for i = 1, #ARGV, some do
	redis.call('sadd', KEYS[1], unpack(ARGV, i, math.min(i + some - 1, #ARGV)))
end
return 1
