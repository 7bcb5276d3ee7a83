-- publish.lua: append messages to the stream of a reliable topic.
--
-- Include: lane.lua
-- Include: groups.lua
-- KEYS[1]  stream {name}: field m = the message
-- KEYS[2]  lane of the request
-- KEYS[3]  hash: durable group → how many messages it has missed, since they were dropped
-- KEYS[4]  zset {name}:timeout: group → until when it is kept, ms; a durable one has no end
-- ARGV[1]  number of the request
-- ARGV[2]  how long a lane is remembered, ms
-- ARGV[3]  how many messages the stream keeps; 0: all that a group has use for
-- ARGV[4]  1: what a group has use for is not dropped, and messages for which there is no room are refused
-- ARGV[n…]  the messages
--
-- Returns  array  {how many groups get them, how many of them were appended}; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request
local answer = known()
if answer then
	return answer
end

-- count notes what durable groups miss that were not given yet what is dropped now.
local function count(dropped, fresh)
	local top = redis.call('xrevrange', KEYS[1], '+', '-', 'COUNT', 1)[1]
	local lagging = {}
	for _, group in ipairs(redis.call('xinfo', 'groups', KEYS[1])) do
		local last = field(group, 'last-delivered-id')
		if fresh > 0 or top and before(last, top[1]) then
			lagging[#lagging + 1] = {name = field(group, 'name'), last = last, missed = fresh}
		end
	end
	local from = '-'
	for i = 1, #lagging > 0 and dropped or 0 do
		local it = redis.call('xrange', KEYS[1], from, '+', 'COUNT', 1)[1]
		local some = i < 1000 and 1 or dropped - i + 1 -- a length that was lowered by very much: about
		for _, group in ipairs(lagging) do
			if before(group.last, it[1]) then
				group.missed = group.missed + some
			end
		end
		if i == 1000 then
			break
		end
		from = '(' .. it[1]
	end
	for _, group in ipairs(lagging) do
		local ends = group.missed > 0 and redis.call('zscore', KEYS[4], group.name)
		if ends and tonumber(ends) > 9e16 then
			redis.call('hincrby', KEYS[3], group.name, group.missed)
		end
	end
end

local most, more = tonumber(ARGV[3]), #ARGV - 4
if most > 0 and redis.call('exists', KEYS[1]) == 1 then
	local there = redis.call('xlen', KEYS[1])
	if there + more > most then
		if ARGV[4] == '1' then
			-- A write that a full server refuses, before one that it does not: it would append what it has no memory for.
			redis.call('set', KEYS[2], redis.call('get', KEYS[2]) or '0 0 ', 'PX', ARGV[2])
			trim() -- of what nobody has use for any more
			more = math.min(more, math.max(most - redis.call('xlen', KEYS[1]), 0))
		else
			count(math.min(there + more - most, there), math.max(more - most, 0))
		end
	end
elseif most > 0 and ARGV[4] == '1' then
	more = math.min(more, most)
end
for i = 5, 4 + more do
	if ARGV[3] == '0' then
		redis.call('xadd', KEYS[1], '*', 'm', ARGV[i])
	else
		redis.call('xadd', KEYS[1], 'MAXLEN', '=', ARGV[3], '*', 'm', ARGV[i])
	end
end
answer = {0, more}
if redis.call('exists', KEYS[1]) == 1 then
	answer[1] = #redis.call('xinfo', 'groups', KEYS[1])
end
remember(more, answer)
return answer
