-- deliver.lua: the name of a delivery.
--
-- Needs    queue.lua, outset.lua; ARGV[16]
-- Defines  deliver

-- deliver returns the number of a new delivery and that of the client. No two deliveries of a queue have the same number. It is
-- the server's time in µs, or one more than the number before. So it rises even after a failover that forgot a take. A client
-- has a number for as long as it has messages.
local function deliver()
	local client = redis.call('hget', owners, ARGV[16])
	if not client then
		local n = math.floor(redis.call('hlen', owners) / 3) + 1
		while redis.call('hexists', owners, whole(n)) == 1 do
			n = n + 1
		end
		client = whole(n)
		redis.call('hset', owners, client, ARGV[16], ARGV[16], client)
	end
	return whole(math.max((before or 0) + 1, clock[1] * 1000000 + clock[2])), client
end
