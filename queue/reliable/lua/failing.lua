-- failing.lua: attempts that were made in vain.
--
-- Include: put.lua
-- Include: groups.lua
-- Include: attest.lua
-- Needs    queue.lua, outset.lua; ARGV[4], ARGV[14]
-- Defines  buried; if amiss: terms_of, tried, bury, retry
local buried = false -- whether this step has buried a message
local terms_of, tried, bury, retry
if amiss then
	-- terms_of returns how many attempts a message has, and its waits after each.
	function terms_of(id)
		local _, _, _, _, attempts, waits = options(id)
		local most = tonumber(attempts) or term(1, 10)
		if waits == '' then
			every = every or split(terms)
			waits = every[6]
		end
		return most, waits
	end

	-- tried returns how many attempts at a message count. After a redrive they are counted anew, and numbered on.
	function tried(id, attempt)
		return tonumber(attempt) - (redis.call('hget', tries, id .. '+') or 0)
	end

	-- bury ends a message that has had its attempts. It is dead from now on.
	function bury(id, attempt, cause)
		local text = optioned and redis.call('hget', opt, id)
		leave(id, text)
		attest({id}, {text}, 'd')
		redis.call('hdel', tries, id, id .. '+', id .. '!')
		redis.call('hset', failure, id, attempt .. ' ' .. cause)
		redis.call('zadd', dead, whole(now), id)
		redis.call('hincrby', meta, 'dead', 1)
		redis.pcall(ARGV[4], ARGV[14], id)
		buried = true
	end

	-- retry counts an attempt. The message waits for delay ms after it.
	function retry(id, attempt, delay, cause)
		redis.call('hset', tries, id, attempt)
		redis.call('hset', failure, id, attempt .. ' ' .. cause)
		plain = false
		if delay > 0 then
			redis.call('zadd', due, whole(now + delay), id)
		else
			put(id, true)
		end
	end
end
