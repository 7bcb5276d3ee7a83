-- stream_ack.lua: acknowledge an entry, unless another has it by now.
--
-- KEYS[1]  stream
-- ARGV[1]  group
-- ARGV[2]  consumer that was given it
-- ARGV[3]  its ID
-- ARGV[4]  how often it was delivered then
--
-- Returns  integer  1 it is acknowledged, 0 another has it, or it was acknowledged already
-- Replay   once: a second copy says 0
local of = redis.call('xpending', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1]
if not of or of[2] ~= ARGV[2] or of[4] ~= tonumber(ARGV[4]) then
	return 0
end
return redis.call('xack', KEYS[1], ARGV[1], ARGV[3])
