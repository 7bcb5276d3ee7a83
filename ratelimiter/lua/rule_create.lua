-- rule_create.lua: set a rule if there is none.
--
-- KEYS[1]  the rule, see rule_read.lua
-- ARGV[1]  "n per burst type"
-- ARGV[2]  nonce of the request
--
-- Returns  string  what is stored then; it ends with this nonce if this request created it
-- Replay   safe: a second run finds what the first created, by its nonce; one behind a delete creates again
local there = redis.call('GET', KEYS[1])
if there then
	return there
end
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
there = 'tb1 ' .. now .. ' ' .. now .. ' ' .. ARGV[1] .. ' 0 ' .. ARGV[2]
redis.call('SET', KEYS[1], there)
return there
