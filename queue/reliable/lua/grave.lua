-- grave.lua: messages that were taken from the dead.
--
-- Include: enter.lua
-- Include: wake.lua
-- Include: failing.lua
-- Needs    queue.lua; ARGV[3], ARGV[4], ARGV[5]
-- Defines  if amiss: grave, stays, settles_dead
--
-- Such a message has a field "id#" in tries: its score in dead. It is the moment at which it was buried, or the later one from
-- which on a handler of the dead may have it again.
local grave, stays, settles_dead
if amiss then
	-- grave returns the score in dead of a message that was taken from there; nil or false of any other.
	function grave(id)
		return not plain and redis.call('hget', tries, id .. '#')
	end

	-- lies puts a message back among the dead.
	local function lies(id, moment)
		redis.call('hdel', tries, id, id .. '+', id .. '!', id .. '#')
		redis.call('zadd', dead, moment, id)
	end

	-- stays leaves a message dead whose handler has failed. A handler of the dead may have it again after the backoff.
	function stays(id, attempt, cause)
		local _, waits = terms_of(id)
		redis.call('hset', failure, id, attempt .. ' ' .. cause)
		lies(id, whole(now + backoff(waits, tonumber(attempt), id)))
	end

	-- revives has a dead message tried again, as redrive.lua does. It is false if another message has its unique key by now.
	local function revives(id, attempt, delay, cause)
		local _, _, only = options(id)
		if only ~= '' and redis.call('hsetnx', unique, only, id) == 0 then
			return false
		end
		redis.call('hset', failure, id, attempt .. ' ' .. cause)
		redis.call('hdel', tries, id .. '!', id .. '#')
		redis.call('hset', tries, id, attempt, id .. '+', attempt)
		redis.call('hincrby', meta, 'retried', 1)
		if delay == 0 then
			enter({id})
			wake(1, ARGV[4], ARGV[5], ARGV[3], 'w')
			return true
		end
		redis.call('zadd', due, whole(now + delay), id)
		if redis.call('zrange', due, 0, 0)[1] == id then
			sooner(ARGV[4], ARGV[5], ARGV[3])
		end
		return true
	end

	-- settles_dead ends the delivery of a message by anything but an ack, and returns the answer. since is its score in dead.
	function settles_dead(id, attempt, delay, cause, since)
		if delay == -1 then
			lies(id, since)
		elseif delay == -3 then
			lies(id, cause == '0' and since or whole(now + cause))
		elseif delay < 0 or not revives(id, attempt, delay, cause) then
			stays(id, attempt, cause)
			return 'b'
		end
		return '1'
	end
end
