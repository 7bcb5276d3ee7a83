-- nack.lua: a message that is settled by a nack. Its codes are in the head of step.lua.
--
-- Include: settle.lua
-- Include: forget.lua
-- Include: keep.lua
-- Include: begun.lua
-- Include: failing.lua
-- Include: grave.lua
-- Needs    queue.lua; ARGV[4], ARGV[14]
-- Defines  nack, if amiss
local nack
if amiss then
	-- nack settles a message, and returns the answer.
	function nack(of, delay, cause)
		local id, attempt = parts(of)
		if delay == -4 then -- its handler is about to begin
			if not redis.call('zscore', lease, of) then
				return missing(of)
			elseif not plain and there(pause) then
				return 'p'
			elseif attempt ~= '1' then
				begun(id, attempt)
			end
			return '1'
		elseif not leaves(of) then
			return missing(of)
		elseif delay == -6 then -- an ack
			if keeps_done then
				keep({id}, {of})
			end
			forget({id}, 'a')
			redis.pcall(ARGV[4], ARGV[14], id)
			acked = acked + 1
			return '1'
		end

		local since = grave(id)
		if since then
			return settles_dead(id, attempt, delay, cause, since)
		elseif delay == -1 or delay == -3 then -- it is given back
			local wait = 0
			if delay == -3 then
				redis.call('hset', tries, id, tonumber(attempt) - 1) -- that it was taken stays known
				plain, wait = false, tonumber(cause)
			end
			if not plain then
				redis.call('hdel', tries, id .. '!')
			end
			if wait > 0 then
				redis.call('zadd', due, whole(now + wait), id)
			else
				put(id, true)
			end
			return '1'
		end

		local most, waits = terms_of(id)
		local n = tried(id, attempt)
		if delay == -2 or n >= most then
			bury(id, attempt, cause)
			return 'b'
		end
		retry(id, attempt, delay == -5 and backoff(waits, n, id) or delay, cause)
		redis.call('hincrby', meta, 'retried', 1)
		return '1'
	end
end
