-- rule_pause.lua: stop granting, or go on.
--
-- Include: rule.lua
-- KEYS[1]  the rule
-- ARGV[1]  1 to stop, 0 to go on
--
-- Returns  nil     there is no rule
--          string  what is stored then; an error if the name belongs to another algorithm
-- Replay   unsafe: a second run that comes late undoes another's change
local there = redis.call('GET', KEYS[1])
if not there then
	return nil
end
local head, nonce, ttl = string.match(there, '^(tb1 %d+ %d+ %d+ %d+ %d+ %d+ )%d+( %S+) ?(%d*)$')
if not head then
	return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not the rule of a token bucket')
end
return keep(KEYS[1], head .. ARGV[1] .. nonce, ARGV[1], ttl)
