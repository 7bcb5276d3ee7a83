-- rename.lua: rename the keys of an object, over what is there, or if nothing is.
--
-- Include: whole.lua
-- KEYS[i…]  each key of the object and its new name behind it
-- ARGV[1]   1: only if nothing has the new name
-- ARGV[2]   which of KEYS has to be there; 0: any key of the object
--
-- Returns  integer  1 it was done, 0 there is no such object, or something has the new name, and nothing was changed
-- Replay   unsafe: a second run finds nothing
local there, which = 0, tonumber(ARGV[2])
for i = 1, #KEYS, 2 do
	if which == 0 or which == i then
		there = math.max(there, redis.call('exists', KEYS[i]))
	end
end
if there == 0 or ARGV[1] == '1' and not free(#KEYS) then
	return 0
end
move(#KEYS)
return 1
