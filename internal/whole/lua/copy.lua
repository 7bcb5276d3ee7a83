-- copy.lua: copy the keys of an object, if nothing has the new name.
--
-- Include: whole.lua
-- KEYS[i…]  each key of the object and that of the copy behind it
-- ARGV[1]   the number of the key that has to be there. Its new name has to be free. 0: any key is enough, and all new names have to be free
--
-- Returns  integer  1 it was done, 0 there is no such object, or something has the new name, and nothing was changed
-- Replay   unsafe: a second run finds the copy
local which = tonumber(ARGV[1])
if not present(#KEYS, which) or not free(#KEYS, which) then
	return 0
end
if which > 0 then
	clear(#KEYS)
end
double(#KEYS)
return 1
