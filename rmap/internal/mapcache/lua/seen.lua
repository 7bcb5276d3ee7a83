-- seen.lua: noting that a living entry was read.
--
-- Include: options.lua
-- Include: note.lua

-- seen notes the use of an entry that has that idle time, 0 for none.
local function seen(key, rest)
	if rest > 0 then
		note('zadd', KEYS[3], string.format('%.0f', now + rest), key)
	end
	if bounded and mode == 'LFU' then
		note('zincrby', KEYS[4], 1, key)
	elseif bounded then
		note('zadd', KEYS[4], ARGV[2], key)
	end
end
