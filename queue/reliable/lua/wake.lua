-- wake.lua: notifications of clients that wait.
--
-- Needs    queue.lua
-- Defines  wake, sooner
--
-- A notification is w: there are messages, or d: there is an earlier moment. An ACL that denies the channel must not end a script.

-- told notifies a client, and reports whether it was there.
local function told(client, publish, counts, channel, what)
	return redis.pcall(publish, channel .. client, what) ~= 0 or counts == '0'
end

-- wake notifies up to n of the clients that wait. It passes over those that are gone.
local function wake(n, publish, counts, channel, what)
	for _ = 1, n do
		local client = redis.call('zpopmin', idle)[1]
		while client and not told(client, publish, counts, channel, what) do
			client = redis.call('zpopmin', idle)[1]
		end
		if not client then
			return
		end
	end
end

-- sooner notifies the client that keeps the time of an earlier moment. Without such a client it notifies one of those that wait.
local function sooner(publish, counts, channel)
	local client = redis.call('get', keeper)
	if not client or not told(client, publish, counts, channel, 'd') then
		redis.call('del', keeper)
		wake(1, publish, counts, channel, 'd')
	end
end
