-- add.lua: put messages into a reliable queue.
--
-- Include: queue.lua
-- Include: place.lua
-- Include: wake.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what keeps a message from coming twice, one for each such message; the last key is the lane of the request
-- ARGV[1]    number of the request
-- ARGV[2]    how long a lane is remembered, ms
-- ARGV[3]    what the channels of those who wait begin with
-- ARGV[4]    publish or spublish
-- ARGV[5]    0: a message that reached nobody proves nothing
-- ARGV[6]    how many messages there may be that are not dead, 0: any number
-- ARGV[7]    the options of all messages, "": none; or each, if they have their own
-- ARGV[n…]   of each message: its options, if it has its own; its body. Options are "which of the keys above, 0: none|
--            delay|at|priority|expiry|how long the key stays, ms|length of the unique key, own terms|unique key, group",
--            see options.lua
--
-- Returns  array  {id of the first message, codes, ids}: "" all were added; else for each a, added; d, a duplicate; f, no room;
--                 ids are those of which the duplicates are; {-1}: an older request that comes late, and changes nothing
-- Replay   safe: the lane knows the request and its answer
local lane = KEYS[#KEYS]
local last = redis.call('get', lane)
if last then
	local n, first, codes, ids = string.match(last, '^(%d+) (%d+) ?(%S*) ?(.*)$')
	if n == ARGV[1] and codes ~= 'void' then
		return {tonumber(first), codes, ids}
	elseif tonumber(n) >= tonumber(ARGV[1]) then
		return {-1}
	end
end
if later_queue() then
	return later_queue()
end
local each = ARGV[7] == 'each'
local count = (#ARGV - 7) / (each and 2 or 1)
local first = redis.call('hincrby', meta, 'id', count) - count + 1
if first == 1 and not there(body) then
	redis.call('hset', meta, 'format', '2') -- a new queue has no bodies without a mark
end
if first < now then
	first = now -- so that none is given again if the last ones were forgotten, as by a failover
	redis.call('hset', meta, 'id', whole(now + count - 1))
end
local room = tonumber(ARGV[6])
room = room > 0 and room - redis.call('hlen', body) + redis.call('zcard', dead) or math.huge
local others = {}
local bodies, n, refused, longest = {}, 0, false, 0

-- Ten ids have all digits but one in common: to write each by itself takes three times as long.
local digits, tens, front = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}, 0, ''

local function name(id)
	local last = id % 10
	if id - last ~= tens then
		tens = id - last
		front = whole(tens / 10)
	end
	return front .. digits[last + 1]
end

for i = 1, count do
	local id, text, code = name(first + i - 1), each and ARGV[6 + 2 * i] or ARGV[7], 'a'
	if room <= 0 then
		code = 'f'
	elseif text == '' then
		lined = lined + 1
		line[lined] = id
	else
		local other = place(id, text)
		if other then
			code = 'd'
			others[#others + 1] = other
		end
	end
	if code == 'a' then
		local text = ARGV[each and 7 + 2 * i or 7 + i]
		bodies[n + 1], bodies[n + 2], n, room = id, text, n + 2, room - 1
		if #text > longest then
			longest = #text
		end
	else
		refused = refused or {}
		refused[i] = code
	end
end
for i = 1, n, 4000 do
	redis.call('hset', body, unpack(bodies, i, math.min(i + 3999, n)))
end
if longest > 2048 then
	redis.call('hset', meta, 'large', '1') -- takes look at the length of bodies from now on
end
for i = 1, lined, 4000 do
	redis.call('rpush', ready, unpack(line, i, math.min(i + 3999, lined)))
end
redis.call('hincrby', meta, 'added', n / 2)
local codes = ''
if refused then
	for i = 1, count do
		refused[i] = refused[i] or 'a'
	end
	codes = table.concat(refused)
end
others = table.concat(others, ' ')
redis.call('set', lane, ARGV[1] .. ' ' .. whole(first) .. ' ' .. codes .. ' ' .. others, 'PX', ARGV[2])
wake(math.min(lined + entered + followed, 4), ARGV[4], ARGV[5], ARGV[3], 'w')
if moments and tonumber(redis.call('zrange', due, 0, 0)[1]) >= first then
	sooner(ARGV[4], ARGV[5], ARGV[3])
end
return {first, codes, others}
