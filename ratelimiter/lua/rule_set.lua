-- rule_set.lua: set a rule, whatever there is. The very parameters that are stored already change nothing.
--
-- KEYS[1]  the rule, see rule_read.lua
-- ARGV[1]  "n per burst type"
-- ARGV[2]  1 to make all buckets full, 0 to let what was taken stay taken
-- ARGV[3]  nonce of the request
--
-- Returns  string  what is stored then; an error if the name belongs to another algorithm
-- Replay   unsafe: a second run that comes late undoes another's change
local there = redis.call('GET', KEYS[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local reset, paused = string.format('%.0f', now), '0'
if there then
	local g, r, parameters, p = string.match(there, '^tb1 (%d+) (%d+) (%d+ %d+ %d+ %d+) (%d+) %S+$')
	if not g then
		return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not the rule of a token bucket')
	end
	-- Another generation would cost each bucket the fraction of a token, and each who sets its rate at its start would do so.
	if parameters == ARGV[1] and ARGV[2] == '0' then
		return there
	end
	paused = p -- which only rule_pause.lua ends
	-- A clock that was set back must not make a rule older than the one it replaces.
	if now <= tonumber(g) then
		now = g + 1
		reset = string.format('%.0f', now)
	end
	if ARGV[2] == '0' then
		reset = r
	end
end
there = 'tb1 ' .. string.format('%.0f', now) .. ' ' .. reset .. ' ' .. ARGV[1] .. ' ' .. paused .. ' ' .. ARGV[3]
redis.call('SET', KEYS[1], there)
return there
