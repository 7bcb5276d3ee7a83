-- change.lua: write or delete a bucket if it is what an Update has read.
--
-- Include: store.lua
-- KEYS[1]  bucket
-- KEYS[2…]  the claim of the Update that goes before others, where one is looked at
-- ARGV[1]  1 if the caller has read a value, 0 if none, 2 if it only looks
-- ARGV[2]  what it has read
-- ARGV[3]  1 to write, 0 to delete
-- ARGV[4]  what is written
-- ARGV[5]  time to live: ms, or keep for what the bucket has; empty: for ever
-- ARGV[6]  what names the caller at the claim
-- ARGV[7]  for how long the caller goes first if it was not done, ms; 0: not at all
--
-- Returns  integer  1 it was done; 0 another goes first, and nothing was done
--          text     what is there instead
--          nil      nothing is there, where the caller has read a value
-- Replay   once: a second run finds what the first has written
local first
if KEYS[2] then
	first = redis.call('get', KEYS[2])
	if first and first ~= ARGV[6] then
		return 0
	end
end
local there = redis.call('get', KEYS[1])
if ARGV[1] == '1' and there ~= ARGV[2] or ARGV[1] == '0' and there or ARGV[1] == '2' then
	if KEYS[2] and ARGV[7] ~= '0' then
		redis.pcall('set', KEYS[2], ARGV[6], 'PX', ARGV[7]) -- a full server has no room for it
	end
	return there
end
if ARGV[3] == '1' then
	store(KEYS[1], ARGV[4], ARGV[5])
elseif there then
	redis.call('unlink', KEYS[1])
end
if first then
	redis.pcall('del', KEYS[2]) -- it ends by itself where an ACL denies that, and the write is done
end
return 1
