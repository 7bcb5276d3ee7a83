-- stream_remove_consumer.lua: remove a consumer of a group that has no entries.
--
-- KEYS[1]  stream
-- ARGV[1]  group
-- ARGV[2]  consumer
--
-- Returns  integer  1 it was there, 0 it was not; below 0: so many entries it has, and stays
-- Replay   safe: it is gone
for _, about in ipairs(redis.call('xinfo', 'consumers', KEYS[1], ARGV[1])) do
	local name, pending
	for i = 1, #about, 2 do
		if about[i] == 'name' then
			name = about[i + 1]
		elseif about[i] == 'pending' then
			pending = about[i + 1]
		end
	end
	if name == ARGV[2] then
		if pending > 0 then
			return -pending
		end
		redis.call('xgroup', 'delconsumer', KEYS[1], ARGV[1], ARGV[2])
		return 1
	end
end
return 0
