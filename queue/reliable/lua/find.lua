-- find.lua: what there is of a message.
--
-- Include: info.lua
-- Include: groups.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- ARGV[1]    id
--
-- Returns  array  id, state (ready, delayed, running, behind, dead, done), attempts, when, cause, options, delivery, owner,
--                 progress, body; {}: there is none
-- Replay   reads: it changes nothing
if later_queue() then
	return later_queue()
end
local id, out = ARGV[1], {}
if redis.call('hexists', body, id) == 0 then
	local text = tonumber(redis.call('zscore', finished_until, id) or 0) > now and redis.call('hget', finished, id) or ''
	local head, moment, attempt, delivery, size = string.match(text, '^(d (%d+) (%d+) (%d*) (%d+) )')
	if not head then
		return out
	end
	local from, to = #head + 1, #head + tonumber(size)
	return {id, 'done', whole(attempt - 1), moment, '', string.sub(text, from, to), delivery, '', '', string.sub(text, to + 1)}
end
local moment, grave = redis.call('zscore', due, id), redis.call('zscore', dead, id)
local ends, of
if not moment and not grave then
	ends, of = held(id)
end
if ends then
	describe(out, id, 'running', ends, of)
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
