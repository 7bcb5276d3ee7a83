-- json_change.lua: write or delete a document, or a place in it, unless that has changed since the caller has read it.
--
-- Include: json_store.lua
-- KEYS[1]  document
-- KEYS[2…]  the claim of the Update that goes before others, where one is looked at
-- ARGV[1]  1 if the caller has read a value, 0 if none, 2 if it only looks
-- ARGV[2]  an array of what it has read
-- ARGV[3]  1 to write, 0 to delete
-- ARGV[4]  what is written
-- ARGV[5]  time to live: ms, or keep for what the document has; empty: for ever
-- ARGV[6]  what names the caller at the claim
-- ARGV[7]  for how long the caller goes first if it was not done, ms; 0: not at all
-- ARGV[8]  path
-- ARGV[9]  how many bytes the answer may have; 0: any number
--
-- Returns  integer  1 it was done; 0 another goes first, and nothing was done
--          text     an array of what is there instead, which is empty if the path matches nothing
--          integer  below 0: what is there instead is longer than the answer may be, and has so many bytes
--          error    the module does not write at such a path. Nothing was done
--          nil      nothing is there, where the caller has read a value
-- Replay   once: a second run finds what the first has written
local first
if KEYS[2] then
	first = redis.call('get', KEYS[2])
	if first and first ~= ARGV[6] then
		return 0
	end
end
local there = redis.call('json.get', KEYS[1], ARGV[8])
if ARGV[1] == '1' and there ~= ARGV[2] or ARGV[1] == '0' and there or ARGV[1] == '2' then
	if KEYS[2] and ARGV[7] ~= '0' then
		redis.pcall('set', KEYS[2], ARGV[6], 'PX', ARGV[7]) -- a full server has no room for it
	end
	if there and ARGV[9] ~= '0' and #there > tonumber(ARGV[9]) then
		return -#there
	end
	return there
end
local n = 1
if ARGV[3] == '1' then
	n = store(KEYS[1], ARGV[8], ARGV[4], '', ARGV[5])
elseif there then
	n = redis.call('json.del', KEYS[1], ARGV[8])
end
if n == 0 then
	return redis.error_reply('ERR the module reads at this path, and does not write')
end
if first then
	redis.pcall('del', KEYS[2]) -- it ends by itself where an ACL denies that, and the write is done
end
return 1
