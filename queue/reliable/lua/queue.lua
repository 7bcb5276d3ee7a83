-- queue.lua: the keys of a reliable queue, the server's clock, and what most scripts ask first.
--
-- Defines  body … progress        the keys KEYS[1] to KEYS[21]
--          clock, now             the server's time: {s, µs}; in ms since 1970
--          whole, there           a number as text; whether one of some keys exists
--          later, later_queue     the error of a format of a later version
--          parts, counted         the fields of a member of lease; the number of messages of a client
--          rare                   whether the script needs the functions of rare parts
local body, ready, prio, due, lease, tries, opt, head, order, unique = unpack(KEYS, 1, 10)
local dead, failure, meta, pause, idle, keeper, deputy, owners, finished, finished_until, progress = unpack(KEYS, 11, 21)
-- KEYS[22] never exists. So a slot on the move refuses a script before its first step, never in the middle.

local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function whole(n)
	return string.format('%d', n) -- a float's way takes more than twice as long
end

local function there(...)
	return redis.call('exists', ...) > 0
end

-- later returns an error if the queue has the format of a later version. Such a queue must not be changed, nor read as this one.
local function later(format)
	if format and tonumber(format) > 2 then
		return redis.error_reply('ERR the reliable queue has a format of a later version')
	end
end

local function later_queue()
	return later(redis.call('hget', meta, 'format'))
end

-- parts returns the fields of a member of lease: id, attempt, number of the delivery, number of the client. A member of an
-- earlier version is an id of a first attempt, or id:attempt. Its delivery and its client are ''.
local function parts(of)
	local id, attempt, delivery, client = string.match(of, '^(%d+):?(%d*):?(%d*):?(%d*)$')
	return id, attempt == '' and '1' or attempt, delivery, client
end

-- counted adds n to the number of messages that a client has. The last message takes along what is known of the client.
local function counted(client, n)
	if client == '' or n == 0 or redis.call('hincrby', owners, client .. '+', n) > 0 then
		return
	end
	local identity = redis.call('hget', owners, client)
	redis.call('hdel', owners, client, client .. '+', identity or client)
end

-- A script makes its functions anew in each call. That takes the server 0.1 to 0.5 us for each, as it uses few or many variables from
-- around it. So a part whose functions are seldom needed makes them only if rare is true. step.lua and add.lua have it false
-- where they know that they do without.
local rare = true
