-- rule_create.lua: set a rule if there is none.
--
-- Include: rule.lua
-- KEYS[1]  the rule
-- ARGV[1]  "n per burst type"
-- ARGV[2]  nonce of the request
-- ARGV[3]  after which time without use the rule goes, ms; 0 for never
--
-- Returns  string  what is stored then; it has this nonce if this request created it
-- Replay   safe: a second run finds what the first created, by its nonce; one behind a delete creates again
local there = redis.call('GET', KEYS[1])
if there then
	return used(KEYS[1], there)
end
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
-- One that goes may have been there before: what was taken by that, debt too, is not forgiven.
local ttl = ARGV[3] ~= '0' and ARGV[3] or ''
local reset = ttl == '' and now or '0'
return keep(KEYS[1], 'tb1 ' .. now .. ' ' .. reset .. ' ' .. ARGV[1] .. ' 0 ' .. ARGV[2], '0', ttl)
