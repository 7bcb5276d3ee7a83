-- json_swap.lua: write a document, or a place in it, and read what was there.
--
-- Include: json_store.lua
-- KEYS[1]  document
-- ARGV[1]  path
-- ARGV[2]  what is written
-- ARGV[3]  time to live: ms, or keep for what the document has; empty: for ever
-- ARGV[4]  1 to write also where nothing is, 0 not to
--
-- Returns  text     an array of what was there
--          nil      nothing was there, and it was written
--          integer  0 nothing is there; else how many places the path matches. Nothing was written
--          error    the module does not write at such a path. Nothing was done
-- Replay   unsafe: what was there is in the answer only
local types = redis.call('json.type', KEYS[1], ARGV[1])
local n = types and #types or 0
if n > 1 or n == 0 and ARGV[4] == '0' then
	return n
end
local there = n == 1 and redis.call('json.get', KEYS[1], ARGV[1])
if store(KEYS[1], ARGV[1], ARGV[2], '', ARGV[3]) == 0 then
	return redis.error_reply('ERR the module reads at this path, and does not write')
end
return there
