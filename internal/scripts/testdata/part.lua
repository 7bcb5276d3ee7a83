-- part.lua: the answer.
local function answer() return 42 end
