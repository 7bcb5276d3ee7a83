-- draw.lua: ids are drawn by priority, in turns, or from the dead.
--
-- Needs    queue.lua, outset.lua; ARGV[17]
-- Defines  back; if rare: draw, failures

-- back returns the ids from index first on to where draw has found them.
local function back(ids, scores, first)
	local line, scored = {}, {}
	for i = #ids, first, -1 do
		if scores[i] then
			scored[#scored + 1], scored[#scored + 2] = scores[i], ids[i]
		else
			line[#line + 1] = ids[i]
		end
	end
	if #line > 0 then
		redis.call('lpush', ready, unpack(line))
	end
	if #scored > 0 then
		redis.call('zadd', takes_dead and dead or prio, unpack(scored))
	end
end

local draw, failures
if rare then
	-- turns draws a fourth of n ids, each from the next priority that has one: downwards from the last that had its turn, and after
	-- priority 0 from the highest on. The rest of a division by four counts for the next call. A priority has 2^44 scores.
	local function turns(n, ids, scores)
		local state = redis.call('hmget', meta, 'drawn', 'turn')
		local drawn, last, level = n + (state[1] or 0), tonumber(state[2] or 0), 17592186044416
		for _ = 1, math.floor(drawn / 4) do
			local from = last > 0 and whole(-(last - 1) * level) or '-inf'
			local top = redis.call('zrangebyscore', prio, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
			local id = not top[1] and redis.call('lpop', ready)
			if not top[1] and not id then
				top = redis.call('zrange', prio, 0, 0, 'WITHSCORES')
			end
			id = id or top[1]
			if not id then
				break
			end
			ids[#ids + 1], last = id, 0
			if top[1] then
				redis.call('zrem', prio, id)
				scores[#ids] = top[2]
				last = math.floor((id - top[2]) / level + 0.5)
			end
		end
		redis.call('hset', meta, 'drawn', whole(drawn % 4), 'turn', whole(last))
	end

	-- draw takes up to n ids away. scores has those of the ids that have a priority, or are dead.
	function draw(n)
		local ids, scores, popped = {}, {}, {}
		if takes_dead then
			popped = redis.call('zrangebyscore', dead, '-inf', whole(now), 'WITHSCORES', 'LIMIT', 0, n)
		else
			if ARGV[17] == 'f' then
				turns(n, ids, scores)
			end
			popped = #ids < n and redis.call('zpopmin', prio, n - #ids) or {}
		end
		for i = 1, #popped, 2 do
			ids[#ids + 1] = popped[i]
			scores[#ids] = popped[i + 1]
		end
		if takes_dead then
			if #ids > 0 then
				redis.call('zrem', dead, unpack(ids))
			end
		elseif #ids < n then
			popped = redis.call('lpop', ready, n - #ids)
			for i = 1, popped and #popped or 0 do
				ids[#ids + 1] = popped[i]
			end
		end
		return ids, scores
	end

	-- failures returns how many attempts at each of the ids have failed.
	function failures(ids)
		if not takes_dead then
			return redis.call('hmget', tries, unpack(ids))
		end
		local failed = redis.call('hmget', failure, unpack(ids))
		for i = 1, #ids do
			failed[i] = string.match(failed[i] or '', '^%d+') or '0'
		end
		return failed
	end
end
