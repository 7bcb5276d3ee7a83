-- bounded_release.lua: free the slots of elements that were taken by a command of their own.
--
-- Include: number.lua
-- Include: slots.lua
-- Include: done.lua
-- KEYS[1]  of no use here: the queue
-- KEYS[2]  free slots: decimal
-- KEYS[3]  what remembers the answer
-- ARGV[1]  how long it is remembered, ms
-- ARGV[2]  channel of free slots
-- ARGV[3]  1: tell sharded listeners, too
-- ARGV[4]  how many
--
-- Returns  integer  how many are free; nil: there is no capacity any more
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
redis.call('pexpire', KEYS[3], ARGV[1]) -- which a full server does not refuse, so that it lets those behind it pass
local room, wrong = number(KEYS[2])
if wrong then
	return wrong
elseif not room then
	return done(false)
end
room = done(redis.call('incrby', KEYS[2], ARGV[4]))
announce(ARGV[2], ARGV[3], room)
return room
