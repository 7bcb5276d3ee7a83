-- inspect.lua: who holds the lock. A script, since commands that only read may
-- be routed to a replica.
--
-- KEYS[1]  lock hash, the name itself
--
-- Returns  nil    nobody
--          array  {owner, hold count, remaining lease in ms or -1 where it has none}
--          error  FAMILY and what else the name is: "rwlock", "group"
-- Replay   reads: it changes nothing
local fields = redis.call('hgetall', KEYS[1])
if #fields == 0 then
	return nil
end
for i = 1, #fields, 2 do
	if fields[i] == 'mode' then
		return redis.error_reply('FAMILY rwlock')
	end
end
if #fields > 2 then
	return redis.error_reply('FAMILY group')
end
return {fields[1], tonumber(fields[2]), redis.call('pttl', KEYS[1])}
