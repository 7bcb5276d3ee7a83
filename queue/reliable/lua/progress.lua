-- progress.lua: keep how far the work on a message is.
--
-- Include: queue.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    member of lease
-- ARGV[3]    the progress
--
-- Returns  integer  1 it is kept, 0 that delivery has the message no more: nothing was changed
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end
local id = parts(ARGV[2])
if not redis.call('zscore', lease, ARGV[2]) then
	return done(0)
end
redis.call('hset', progress, id, ARGV[3])
return done(1)
