-- behind.lua: change entries of a map, and queue the changes for the store behind it.
--
-- Include: done.lua
-- Include: write.lua
-- Include: pending.lua
-- KEYS[1]   map
-- KEYS[2]   stream of changes
-- KEYS[3]   which of them is the last of an entry
-- KEYS[4…]  what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   how many changes may be queued
-- ARGV[3]   time to live: ms, or keep for what the entry has; empty: for ever
-- ARGV[4]   what has to be there, of one entry: = and the value; empty: nothing; *: whatever
-- ARGV[5]   what names this call
-- ARGV[6…]  fields by turns with = and the value that is written, or nothing for what is removed
--
-- Returns  integer  how many entries there were
--          text     what is there instead, behind a =, or nothing: nothing was changed
--          nil      so many changes are queued, and nothing was changed
-- Replay   unsafe: somebody else may have written in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
if redis.call('xlen', KEYS[2]) + (#ARGV - 5) / 2 > tonumber(ARGV[2]) then
	return done(false)
end
if ARGV[4] ~= '*' then
	local there = redis.call('hget', KEYS[1], ARGV[6])
	if (there and '=' .. there or '') ~= ARGV[4] then
		return done(there and '=' .. there or '')
	end
end
-- What fails for good does so before anything is queued, and no key is touched that was emptied here: on a slot that
-- moves the script would end in its middle.
redis.call('hexists', KEYS[3], '')
asked(ARGV[6], ARGV[3])
local gone, count = {}, 0
for i = 6, #ARGV, 2 do
	local there = redis.call('hexists', KEYS[1], ARGV[i])
	if ARGV[i + 1] == '' and there == 1 then
		gone[#gone + 1] = ARGV[i]
	else
		count = count + there
	end
end
-- What takes memory comes first, or a full server would let it pass behind what takes none.
for i = 6, #ARGV, 2 do
	queue(KEYS[2], KEYS[3], ARGV[i], ARGV[i + 1], ARGV[5])
	if ARGV[i + 1] ~= '' then
		write(ARGV[i], string.sub(ARGV[i + 1], 2), ARGV[3])
	end
end
if #gone > 0 then
	count = count + redis.call('hdel', KEYS[1], unpack(gone))
end
return done(count)
