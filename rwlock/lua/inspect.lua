-- inspect.lua: who holds the lock. A script, since commands that only read may
-- be routed to a replica.
--
-- KEYS[1]  lock hash, the name itself
--
-- Returns  nil    nobody
--          array  {remaining lease in ms or -1 where it has none, field, value, field, value …}
--          error  FAMILY and what else the name is: "lock", "group"
-- Replay   reads: it changes nothing
local fields = redis.call('hgetall', KEYS[1])
if #fields == 0 then
	return nil
end
if redis.call('hexists', KEYS[1], 'mode') == 0 then
	return redis.error_reply(#fields > 2 and 'FAMILY group' or 'FAMILY lock')
end
table.insert(fields, 1, redis.call('pttl', KEYS[1]))
return fields
