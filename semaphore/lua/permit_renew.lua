-- permit_renew.lua: lengthen the leases of permits that are still held.
--
-- Include: leases.lua
-- KEYS[i]     leases of the i-th permit's semaphore: zset of the ids that are held, score = end of the lease, ms
-- ARGV[2i-1]  id of the i-th permit, 16 bytes
-- ARGV[2i]    lease of the i-th permit, ms
--
-- Runs     zadd
-- Returns  array  for each permit 1 renewed; 0 gone; or the text of an error that says neither
-- Replay   safe: a lease only grows, and only that of an id which is there and has not ended
local now, answers, i = clock(), {}, 1
while i <= #KEYS do
	local key, last = KEYS[i], i
	while KEYS[last + 1] == key do
		last = last + 1
	end
	local ids = {}
	for j = i, last do
		ids[#ids + 1] = ARGV[2 * j - 1]
	end
	-- pcall: one bad key must not cost the others of its batch their leases. First a write that a full server does not
	-- refuse, and that changes nothing: it lets those behind it pass.
	local ends = redis.pcall('zrem', key, '')
	if type(ends) ~= 'table' then
		ends = redis.pcall('zmscore', key, unpack(ids))
	end
	local longer = {'zadd', key, 'XX', 'GT'}
	for j, id in ipairs(ids) do
		if ends.err then
			answers[i + j - 1] = string.find(ends.err, 'WRONGTYPE', 1, true) and 0 or ends.err
		elseif ends[j] and tonumber(ends[j]) > now then
			answers[i + j - 1] = 1
			longer[#longer + 1] = whole(now + ARGV[2 * (i + j - 1)])
			longer[#longer + 1] = id
		else
			answers[i + j - 1] = 0
		end
	end
	if #longer > 4 then
		local done = redis.pcall(unpack(longer))
		if type(done) == 'table' then
			for j = i, last do
				answers[j] = answers[j] == 1 and done.err or answers[j]
			end
		end
	end
	i = last + 1
end
return answers
