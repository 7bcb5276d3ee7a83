-- rule_set.lua: set a rule, whatever there is. The very parameters that are stored already change nothing but how long it
-- stays.
--
-- Include: rule.lua
-- KEYS[1]  the rule
-- ARGV[1]  "n per burst type"
-- ARGV[2]  1 to make all buckets full, 0 to let what was taken stay taken
-- ARGV[3]  nonce of the request
-- ARGV[4]  after which time without use the rule goes, ms; 0 for never, -1 for what is stored
-- ARGV[5]  the least such time for this rule, ms
--
-- Returns  string  what is stored then; an error if the name belongs to another algorithm
-- Replay   unsafe: a second run that comes late undoes another's change
local there = redis.call('GET', KEYS[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local ttl = tonumber(ARGV[4]) > 0 and ARGV[4] or ''
local reset, paused = string.format('%.0f', now), '0'
if there then
	local head, g, r, parameters, p, nonce, stored = string.match(there, '^(tb1 (%d+) (%d+) (%d+ %d+ %d+ %d+) (%d+) (%S+)) ?(%d*)$')
	if not g then
		return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not the rule of a token bucket')
	end
	if ARGV[4] == '-1' and stored ~= '' then
		ttl = tonumber(stored) < tonumber(ARGV[5]) and ARGV[5] or stored
	end
	-- Another generation would cost each bucket the fraction of a token, and each who sets its rate at its start would do so.
	if parameters == ARGV[1] and ARGV[2] == '0' then
		if stored == ttl then
			return used(KEYS[1], there)
		end
		return keep(KEYS[1], head, p, ttl)
	end
	paused = p -- which only rule_pause.lua ends
	-- A clock that was set back must not make a rule older than the one it replaces.
	if now <= tonumber(g) then
		now = g + 1
		reset = string.format('%.0f', now)
	end
	if ARGV[2] == '0' then
		reset = r == '0' and '1' or r -- a change forgives debt
	end
elseif ttl ~= '' and ARGV[2] == '0' then
	reset = '0' -- as in rule_create.lua
end
local text = 'tb1 ' .. string.format('%.0f', now) .. ' ' .. reset .. ' ' .. ARGV[1] .. ' ' .. paused .. ' ' .. ARGV[3]
return keep(KEYS[1], text, paused, ttl)
