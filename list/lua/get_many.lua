-- get_many.lua: read the elements of some indexes, as many as have a number of bytes together.
--
-- KEYS[1]   list
-- ARGV[1]   how many bytes are enough
-- ARGV[2…]  indexes, from 0; negative: from the end
--
-- Returns  array  the elements of the first indexes, of one at least; nil where there is none
-- Replay   reads: it changes nothing
local all, bytes, most = {}, 0, tonumber(ARGV[1])
for i = 2, #ARGV do
	local element = redis.call('lindex', KEYS[1], ARGV[i])
	all[i - 1] = element
	if element then
		bytes = bytes + #element
		if bytes >= most then
			break
		end
	end
end
return all
