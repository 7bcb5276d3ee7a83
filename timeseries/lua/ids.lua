-- ids.lua: the counter of a newer Redisson, beside a time series.
--
-- Runs     hlen unlink

-- forget deletes a counter after the last entry is gone. It leaves a key of another type, and one that the user may not delete.
local function forget(counter)
	local fields = redis.pcall('hlen', counter)
	if type(fields) == 'number' and fields > 0 then
		redis.pcall('unlink', counter)
	end
end
