-- expires.lua: whether the server of a map has times to live of fields.
--
-- KEYS[1]  map: it says which server is asked, also while its slot moves
-- ARGV[1]  a field that is not there
--
-- Returns  nil   it has, also if it refuses it now, or the map is of another type, which the operation will say
--          text  it has not: INFO server, or why it does not tell
-- Replay   reads: it changes nothing
local got = redis.pcall('hpexpire', KEYS[1], 1, 'FIELDS', 1, ARGV[1])
local said = type(got) == 'table' and got.err
if not said then
	return false
end
-- What it refuses it knows. Reads go on meanwhile.
for _, refusal in ipairs({'WRONGTYPE', 'OOM', 'READONLY', 'NOREPLICAS', 'MISCONF'}) do
	if string.find(said, refusal, 1, true) then
		return false
	end
end
if not string.find(string.lower(said), 'unknown', 1, true) then
	return got
end
local info = redis.pcall('info', 'server')
return type(info) == 'string' and info or info.err
