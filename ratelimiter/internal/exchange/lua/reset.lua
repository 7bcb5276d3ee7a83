-- reset.lua: make a bucket full, and lift a block.
--
-- Include: state.lua
-- KEYS[1]  state of the bucket
--
-- Returns  number  1, or 0 if it was full and not blocked already
-- Replay   unsafe: a second run gives what was taken meanwhile again
local state = redis.call('GET', KEYS[1])
if state and not load(state) then
	return redis.error_reply('WRONGTYPE this is not the state of a rate limiter')
end
return redis.call('DEL', KEYS[1])
