-- look.lua: which values are in a filter of this shape, on a server without BITFIELD_RO.
--
-- KEYS[1]   bitmap
-- KEYS[2]   config
-- ARGV[1]   size: bits of the filter
-- ARGV[2]   hashIterations: bits of each value
-- ARGV[3…]  bits
--
-- Returns  array  {1, 1 or 0 for each bit…}; {0, size, hashIterations} as they are, empty if there is none
-- Replay   safe: it reads
local shape = redis.call('hmget', KEYS[2], 'size', 'hashIterations')
if shape[1] ~= ARGV[1] or shape[2] ~= ARGV[2] then
	return {0, shape[1] or '', shape[2] or ''}
end
local answer = {1}
for i = 3, #ARGV do
	answer[i - 1] = redis.call('getbit', KEYS[1], ARGV[i])
end
return answer
