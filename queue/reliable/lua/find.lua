-- find.lua: what there is of a message.
--
-- Include: info.lua
-- KEYS[1…19] the parts of the queue, see queue.lua
-- ARGV[1]    id
--
-- Returns  array  id, state (ready, delayed, running, behind, dead), attempts, when, cause, options, body; {}: there is none
-- Replay   safe: it changes nothing
local id, out = ARGV[1], {}
local ends = held(id)
local moment, grave = redis.call('zscore', due, id), redis.call('zscore', dead, id)
if ends then
	describe(out, id, 'running', ends)
elseif moment then
	describe(out, id, 'delayed', moment)
elseif grave then
	describe(out, id, 'dead', grave)
else
	local _, _, _, group = options(id)
	local waits = group ~= '' and redis.call('zscore', order, behind(group, id))
	describe(out, id, waits and 'behind' or 'ready', '0')
end
return out
