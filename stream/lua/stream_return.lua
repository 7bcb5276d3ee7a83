-- stream_return.lua: let others have entries at once that a consumer has read and nobody has seen.
--
-- KEYS[1]  stream
-- ARGV[1]  group
-- ARGV[2]  consumer that has them
-- ARGV[3]  how long they count as left alone, ms
-- ARGV[4]  channel of what was given back
-- ARGV[5]  PUBLISH, or SPUBLISH
-- ARGV[6…] an ID, and how often the entry was delivered with the time that is undone
--
-- Returns  integer  how many went back; not those that have been delivered again meanwhile
-- Replay   unsafe: the consumer may have been given one again
local gone = 0
for i = 6, #ARGV, 2 do
	local of = redis.call('xpending', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)[1]
	if of and of[2] == ARGV[2] and of[4] == tonumber(ARGV[i + 1]) then
		redis.call('xclaim', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'IDLE', ARGV[3], 'RETRYCOUNT', of[4] - 1, 'JUSTID')
		gone = gone + 1
	end
end
if gone > 0 then
	-- pcall: an ACL that denies the channel must not keep anything from going back.
	redis.pcall(ARGV[5], ARGV[4], ARGV[1])
end
return gone
