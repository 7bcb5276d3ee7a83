-- forget.lua: the end of messages.
--
-- Include: groups.lua
-- Include: attest.lua
-- Needs    queue.lua
-- Defines  forget, if rare
local forget
if rare then
	-- forget takes out everything that the queue has of messages that are under way no more. how is the letter of attest.lua for
	-- their end; nil: it is not known.
	function forget(ids, how)
		if #ids == 0 then
			return
		end
		if optioned then
			local texts = redis.call('hmget', opt, unpack(ids))
			for i = 1, #ids do
				leave(ids[i], texts[i])
			end
			if how then
				attest(ids, texts, how)
			end
			redis.call('hdel', opt, unpack(ids))
		end
		redis.call('hdel', body, unpack(ids))
		redis.call('hdel', failure, unpack(ids))
		redis.call('hdel', progress, unpack(ids))
		if there(tries) then
			redis.call('hdel', tries, unpack(ids))
			local marks = {}
			for i = 1, #ids do
				marks[3 * i - 2], marks[3 * i - 1], marks[3 * i] = ids[i] .. '+', ids[i] .. '!', ids[i] .. '#'
			end
			redis.call('hdel', tries, unpack(marks))
		end
	end
end
