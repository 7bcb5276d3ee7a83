-- add.lua: set bits of values, if the filter has this shape.
--
-- KEYS[1]   bitmap
-- KEYS[2]   config
-- ARGV[1]   size: bits of the filter
-- ARGV[2]   hashIterations: bits of each value
-- ARGV[3]   new: say which values were not there; or empty
-- ARGV[4…]  bits
--
-- Returns  array  {1, 1 or 0 for each value if it was new…}, with 2 for the first 1 on a server without BITFIELD;
--          {0, size, hashIterations} as they are, empty if there is none
-- Replay   safe: bits are only set
local shape = redis.call('hmget', KEYS[2], 'size', 'hashIterations')
if shape[1] ~= ARGV[1] or shape[2] ~= ARGV[2] then
	return {0, shape[1] or '', shape[2] or ''}
end

-- A bitmap that is not there, or is one of Redisson that has not grown yet, gets its length at once, so that no later call
-- has it moved in memory.
local bytes = redis.call('strlen', KEYS[1])
if bytes * 8 < tonumber(ARGV[1]) then
	redis.call('setbit', KEYS[1], string.format('%.0f', ARGV[1] - 1), 0)
end
if bytes == 0 then
	local left = redis.call('pttl', KEYS[2])
	if left >= 0 then
		redis.call('pexpire', KEYS[1], math.max(left, 1))
	end
end

local words, n = {}, 0
for i = 4, #ARGV do
	words[n + 1], words[n + 2], words[n + 3], words[n + 4] = 'SET', 'u1', ARGV[i], '1'
	n = n + 4
end
local answer = {1}
local was = redis.pcall('bitfield', KEYS[1], unpack(words))
if was.err then
	if not string.find(string.lower(was.err), 'unknown', 1, true) then
		return was
	end
	answer, was = {2}, {}
	for i = 4, #ARGV do
		was[i - 3] = redis.call('setbit', KEYS[1], ARGV[i], 1)
	end
end
if ARGV[3] == 'new' then
	local k = tonumber(ARGV[2])
	for first = 1, #was, k do
		local new = 0
		for i = first, first + k - 1 do
			if was[i] == 0 then
				new = 1
				break
			end
		end
		answer[#answer + 1] = new
	end
end
return answer
