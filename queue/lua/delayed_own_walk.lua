-- delayed_own_walk.lua: elements that wait in a delayed queue of our own format, the first to be due first.
--
-- KEYS[1]  when they are due, ms: ids by time
-- KEYS[2]  hash: id → element
-- ARGV[1]  behind how many
-- ARGV[2]  how many at most; fewer if they are long
-- ARGV[3]  how many bytes, about
--
-- Returns  array  {when it is due, ms, and the element, or nil…}
-- Replay   reads: it changes nothing
local answer, bytes, last = {}, 0, 0
local ids = redis.call('zrange', KEYS[1], ARGV[1], tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1, 'WITHSCORES')
for i = 1, #ids, 2 do
	if i > 1 and bytes + last > tonumber(ARGV[3]) then -- if the next one is as long as the last
		break
	end
	local element = redis.call('hget', KEYS[2], ids[i])
	answer[i] = ids[i + 1]
	answer[i + 1] = element
	last = element and #element or 0
	bytes = bytes + last
end
return answer
