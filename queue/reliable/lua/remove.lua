-- remove.lua: take messages out that nobody has ever had, or also those that somebody has.
--
-- Include: info.lua
-- Include: forget.lua
-- Include: remember.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    0: only what nobody has or has had; 1: any; 2: any that is not dead
-- ARGV[3]    channel on which it is said that somebody has lost it
-- ARGV[4]    publish or spublish
-- ARGV[5]    channel on which the ends of messages are told
-- ARGV[n…]   ids
--
-- Runs     lpop rpop publish*
-- Returns  text     of each id: 1 it was there, and nobody had it; 2 somebody had it, or has had it; 3 it is dead, and stays;
--                   0 there was none; a, c, d, e, x: there was one whose end somebody awaits, see attest.lua
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end

-- clear takes ids without a message off an end of what is ready, so that they do not heap up where nobody takes.
local function clear(at, pop)
	for _ = 1, 99 + #ARGV - 5 do
		local id = redis.call('lindex', ready, at)
		if not id or redis.call('hexists', body, id) == 1 then
			return
		end
		redis.call(pop, ready)
	end
end

-- waits reports whether a message is delayed, has a priority or is dead: then nobody has it.
local function waits(id)
	return redis.call('zscore', due, id) or redis.call('zscore', prio, id) or redis.call('zscore', dead, id)
end

-- holders returns for each message that somebody has when its lease ends, and its member. Of several messages it walks once over
-- what is under way, and sees only ids that begin as all of them do: messages that are cancelled together were often added together.
local function holders(ids)
	local found, wanted, prefix, at = {}, {}, nil, '0'
	if #ids == 1 then
		found[ids[1]] = {held(ids[1])}
		return found
	end
	for i = 1, #ids do
		local id = ids[i]
		if not waits(id) then
			wanted[id], prefix = true, prefix or id
			while string.sub(id, 1, #prefix) ~= prefix do
				prefix = string.sub(prefix, 1, -2)
			end
		end
	end
	if not prefix then
		return found
	end
	repeat
		local page = redis.call('zscan', lease, at, 'MATCH', prefix .. '*', 'COUNT', 10000)
		for i = 1, #page[2], 2 do
			local id = string.match(page[2][i], '^%d+')
			if wanted[id] then
				found[id] = {page[2][i + 1], page[2][i]}
			end
		end
		at = page[1]
	until at == '0'
	return found
end

-- remove takes out a message that is there, and returns the answer for it. has says when its lease ends, and of what member.
local function remove(id, has, of)
	local grave = redis.call('zscore', dead, id) or redis.call('hexists', tries, id .. '#') == 1 -- or with a handler of the dead
	local taken = has or grave or redis.call('hexists', tries, id) == 1
	if taken and ARGV[2] == '0' then
		return '2'
	elseif grave and ARGV[2] == '2' then
		return '3'
	end
	if has then
		local _, _, _, client = parts(of)
		redis.call('zrem', lease, of)
		counted(client, -1)
		-- Who has it may hear of it late, or by a renewal alone, which does not say why: until a minute after the lease it can ask.
		local ends = math.max(tonumber(has), now) + 60000
		remember(1, {id, 'c ' .. of}, {whole(ends), id}, ends - now)
	end
	redis.call('zrem', due, id)
	redis.call('zrem', prio, id)
	redis.call('zrem', dead, id)
	forget({id}, grave and 'd' or taken and 'c' or 'x')
	redis.call('hincrby', meta, 'removed', 1)
	redis.pcall(ARGV[4], ARGV[5], id)
	if has then
		redis.pcall(ARGV[4], ARGV[3], of)
	end
	return taken and '2' or '1'
end

local ids, codes, removed = {unpack(ARGV, 6)}, {}, false
local has = holders(ids)
for i = 1, #ids do
	local id = ids[i]
	if redis.call('hexists', body, id) == 0 then
		codes[i] = redis.call('hget', finished, '=' .. id) or '0'
	else
		codes[i] = remove(id, unpack(has[id] or {}))
		removed = removed or codes[i] == '1' or codes[i] == '2' and ARGV[2] ~= '0'
	end
end
if removed and there(body) then
	clear(0, 'lpop')
	clear(-1, 'rpop')
elseif removed then
	redis.call('unlink', ready)
end
return done(table.concat(codes))
