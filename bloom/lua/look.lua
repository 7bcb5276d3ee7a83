-- look.lua: read the bitmap of a filter of this shape: for servers without BITFIELD_RO, and those without memory, which refuse
-- every transaction.
--
-- KEYS[1]   bitmap
-- KEYS[2]   config
-- ARGV[1]   size: bits of the filter
-- ARGV[2]   hashIterations: bits of each value
-- ARGV[3]   bits: the bits that follow; or count: how many are set from one byte to another
-- ARGV[4…]  bits; or the two bytes
--
-- Returns  array  {1, 1 or 0 for each bit…} or {1, how many}; {0, size, hashIterations} as they are, empty if there is none
-- Replay   reads: it changes nothing
local shape = redis.call('hmget', KEYS[2], 'size', 'hashIterations')
if shape[1] ~= ARGV[1] or shape[2] ~= ARGV[2] then
	return {0, shape[1] or '', shape[2] or ''}
end
if ARGV[3] == 'count' then
	return {1, redis.call('bitcount', KEYS[1], ARGV[4], ARGV[5])}
end
local words, n = {}, 0
for i = 4, #ARGV do
	words[n + 1], words[n + 2], words[n + 3] = 'GET', 'u1', ARGV[i]
	n = n + 3
end
local bits = redis.pcall('bitfield_ro', KEYS[1], unpack(words))
if bits.err then
	if not string.find(string.lower(bits.err), 'unknown', 1, true) then
		return bits
	end
	bits = {}
	for i = 4, #ARGV do
		bits[i - 3] = redis.call('getbit', KEYS[1], ARGV[i])
	end
end
table.insert(bits, 1, 1)
return bits
