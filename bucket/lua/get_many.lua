-- get_many.lua: read buckets, as many as have a number of bytes together.
--
-- KEYS[i…]  buckets
-- ARGV[1]   how many bytes are enough
--
-- Returns  array  the values of the first buckets, of one at least; nil where there is none, or the key is of another type
-- Replay   reads: it changes nothing
local n, bytes, most = 0, 0, tonumber(ARGV[1])
for i = 1, #KEYS do
	local length = redis.pcall('strlen', KEYS[i])
	if type(length) == 'number' then
		bytes = bytes + length
	end
	if i > 1 and bytes > most then
		break
	end
	n = i
end
return redis.call('mget', unpack(KEYS, 1, n))
