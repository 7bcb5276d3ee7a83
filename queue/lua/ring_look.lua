-- ring_look.lua: read the elements of a ring buffer from an index on.
--
-- KEYS[1]  ring buffer
-- ARGV[1]  index; a negative one counts from the newest, which is -1, and stands for the oldest if there are fewer
-- ARGV[2]  how many at most; fewer if they are long
-- ARGV[3]  how many bytes, about
--
-- Returns  array  {the index behind the last of them, or -1 if there is nothing left to read, and the elements…}
-- Replay   reads: it changes nothing
local size = redis.call('llen', KEYS[1])
local at, most = tonumber(ARGV[1]), tonumber(ARGV[3])
if at < 0 then
	at = math.max(size + at, 0)
end
local stop = math.min(at + tonumber(ARGV[2]), size)
local answer, bytes, longest, ask = {-1}, 0, 1, 1
while at < stop and bytes < most do
	local some = redis.call('lrange', KEYS[1], at, math.min(at + ask, stop) - 1)
	for _, element in ipairs(some) do
		answer[#answer + 1] = element
		bytes = bytes + #element
		longest = math.max(longest, #element)
	end
	at = at + #some
	ask = math.max(math.min(4 * ask, 16, math.floor((most - bytes) / longest)), 1)
end
if at < size then
	answer[1] = at
end
return answer
