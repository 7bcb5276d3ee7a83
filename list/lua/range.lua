-- range.lua: read elements from an index on, as many as have a number of bytes together.
--
-- KEYS[1]  list
-- ARGV[1]  first index; negative: from the end
-- ARGV[2]  last index; negative: from the end
-- ARGV[3]  how many bytes are enough
-- ARGV[4]  how many elements are enough
--
-- Returns  array  the index after the last of them, the last index, and the elements
-- Replay   reads: it changes nothing
local at, last = tonumber(ARGV[1]), tonumber(ARGV[2])
local size, most = redis.call('llen', KEYS[1]), tonumber(ARGV[3])
if at < 0 then
	at = math.max(at + size, 0)
end
if last < 0 then
	last = last + size
end
at, last = math.min(at, size), math.min(last, size - 1)
local all, bytes, n = {0, string.format('%.0f', last)}, 0, 1
while at <= last and bytes < most and #all < ARGV[4] + 2 do
	local part = redis.call('lrange', KEYS[1], at, math.min(at + n, last + 1, at + ARGV[4] + 2 - #all) - 1)
	for i = 1, #part do
		if bytes >= most then -- these are larger than the ones before
			break
		end
		all[#all + 1], bytes, at = part[i], bytes + #part[i], at + 1
	end
	local each = bytes / (#all - 2) + 1
	n = math.max(math.min(4 * n, math.floor((most - bytes) / each)), 1)
end
all[1] = string.format('%.0f', at)
return all
