-- rename.lua: rename the keys of an object, over what is there, or if nothing is.
--
-- Include: whole.lua
-- KEYS[i…]  each key of the object and its new name behind it
-- ARGV[1]   1: only if nothing has the new name
-- ARGV[2]   the number of the key that has to be there. Its new name has to be free then. 0: any key is enough, and all new names have to be free
--
-- Returns  integer  1 it was done, 0 there is no such object, or something has the new name, and nothing was changed
-- Replay   unsafe: a second run finds nothing
local which = tonumber(ARGV[2])
if not present(#KEYS, which) or ARGV[1] == '1' and not free(#KEYS, which) then
	return 0
end
move(#KEYS)
return 1
