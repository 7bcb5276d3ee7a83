-- permit_list.lua: some of the permits that are held.
--
-- Include: leases.lua
-- KEYS[1]  leases: zset of the ids that are held, score = end of the lease, ms
-- KEYS[2]  labels: hash of ids; missing where nobody sets any
-- ARGV[1]  cursor of the last answer, 0 to begin with
-- ARGV[2]  about how many
--
-- Returns  array  {cursor, 0 at the end, the server's time in ms, then of each its id, the end of its lease, and its label or the
--                 empty one}
-- Replay   reads: it changes nothing
local some = redis.pcall('zscan', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
if some.err then
	return no_leases(KEYS[1], some) or some
end
local answer = {some[1], whole(clock())}
local labels = redis.call('exists', KEYS[2]) == 1
for i = 1, #some[2], 2 do
	answer[#answer + 1] = some[2][i]
	answer[#answer + 1] = some[2][i + 1]
	answer[#answer + 1] = labels and redis.call('hget', KEYS[2], some[2][i]) or ''
end
return answer
