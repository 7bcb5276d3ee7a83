-- permit_list.lua: some of the permits that are held.
--
-- Include: leases.lua
-- KEYS[1]  leases: zset of the ids that are held, score = end of the lease, ms
-- ARGV[1]  cursor of the last answer, 0 to begin with
-- ARGV[2]  about how many
--
-- Returns  array  {cursor, 0 at the end, the server's time in ms, then of each its id and the end of its lease}
-- Replay   safe: it only reads
local some = redis.pcall('zscan', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
if some.err then
	return no_leases(KEYS[1], some) or some
end
local answer = {some[1], whole(clock())}
for _, one in ipairs(some[2]) do
	answer[#answer + 1] = one
end
return answer
