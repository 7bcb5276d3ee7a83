-- copy.lua: copy the keys of an object, if nothing has the new name.
--
-- Include: whole.lua
-- KEYS[i…]  each key of the object and that of the copy behind it
--
-- Returns  integer  1 it was done, 0 there is no such object, or something has the new name, and nothing was changed
-- Replay   unsafe: a second run finds the copy
local there = 0
for i = 1, #KEYS, 2 do
	there = math.max(there, redis.call('exists', KEYS[i]))
end
if there == 0 or not free(#KEYS) then
	return 0
end
double(#KEYS)
return 1
