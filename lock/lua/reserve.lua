-- reserve.lua: take fencing tokens for those that the present hold will be handed to.
--
-- While the owner holds the lock, so they are above those of all earlier holds
-- and below those of all later ones, also if the hold is lost before they are used.
--
-- Include: token.lua
-- KEYS[1]  lock hash, the name itself
-- KEYS[2]  counter of fencing tokens
-- ARGV[1]  owner
-- ARGV[2]  how many tokens
-- ARGV[3]  the highest token of the lock that the client has seen: the new ones are above it
--
-- Returns  integer  the last of the tokens; 0: this owner does not hold the lock
-- Replay   safe: a second run skips as many numbers
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return 0
end
local was, bad = known(KEYS[2])
if bad then
	return redis.error_reply(bad)
end
return raise(KEYS[2], was, ARGV[2], ARGV[3])
