-- slot_add.lua: add to a counter, once, under a request slot: "<number of the last request> 0 <its answer>". The answer is text.
--
-- KEYS[1]  counter: decimal
-- KEYS[2]  slot of the request
-- ARGV[1]  number of the request
-- ARGV[2]  how long the slot is remembered, ms
-- ARGV[3]  what is added
-- ARGV[4]  time to live of a counter that has none, ms; 0: it has none
--
-- Returns  text     the sum
--          integer  -1: an older request that comes late, or one that was ended, and changes nothing
-- Replay   safe: the slot knows the request, also one that was refused for what the counter holds, if the server is not full
local n, said = string.match(redis.call('get', KEYS[2]) or '', '^(%d+) %d+ (.*)$')
if n == ARGV[1] then
	if said == 'void' then
		return -1
	elseif string.match(said, '^%a') then
		return redis.error_reply('ERR ' .. said)
	end
	return said
elseif n and tonumber(n) > tonumber(ARGV[1]) then
	return -1
end
local sum = redis.pcall('incrby', KEYS[1], ARGV[3])
if type(sum) == 'table' then
	local why = string.find(sum.err, 'would overflow', 1, true) and 'increment or decrement would overflow'
		or string.find(sum.err, 'not an integer', 1, true) and 'value is not an integer or out of range'
	if why then
		-- A copy adds nothing either, whatever the counter holds by then. pcall: a full server forgets that.
		redis.pcall('set', KEYS[2], ARGV[1] .. ' 0 ' .. why, 'PX', ARGV[2])
	end
	return sum
end
sum = redis.call('get', KEYS[1]) -- what INCRBY answers is a double here
redis.call('set', KEYS[2], ARGV[1] .. ' 0 ' .. sum, 'PX', ARGV[2])
if ARGV[4] ~= '0' and redis.call('pttl', KEYS[1]) == -1 then
	redis.call('pexpire', KEYS[1], ARGV[4])
end
return sum
