-- rule_delete.lua: forget a rule and the bucket that has no key.
--
-- KEYS[1]  the rule, see rule_read.lua
-- KEYS[2]  state of the bucket without a key
--
-- Returns  number  1, or 0 if there was no rule; an error if the name belongs to another algorithm
-- Replay   unsafe: a second run that comes late deletes what was set since
local there = redis.call('GET', KEYS[1])
if not there then
	return 0
end
if not string.match(there, '^tb1 ') then
	return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not the rule of a token bucket')
end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
