-- note.lua: noting that an entry was used, which never decides whether a read succeeds.
--
-- Runs     zadd zincrby

-- note is zadd or zincrby. A full server refuses it unless the script has begun with a write that takes no memory:
-- zremrangebyrank of no ranks. One that takes no writes at all, for want of replicas, disk or rights, is read all the same.
-- What says that the read itself went wrong is raised: a key of another type, and a server that is the master no more.
local function note(how, side, by, key)
	local noted = redis.pcall(how, side, by, key)
	if type(noted) ~= 'table' then
		return
	end
	local why = noted.err or ''
	if string.find(why, 'WRONGTYPE') or string.find(why, 'READONLY') then
		redis.call(how, side, by, key)
	elseif type(redis.pcall('zremrangebyrank', side, 1, 0)) ~= 'table' then
		redis.pcall(how, side, by, key)
	end
end
