-- behind.lua: change entries of a map, and queue the changes for the store behind it.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: write.lua
-- Include: pending.lua
-- KEYS[1]   map
-- KEYS[2]   stream of changes
-- KEYS[3]   which of them is the last of an entry
-- KEYS[4…]  for each field the lease of who loads it; then the log of near caches, where they are told; what remembers the
--           answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   how many changes may be queued
-- ARGV[3]   time to live: ms, or keep for what the entry has; empty: for ever
-- ARGV[4]   what has to be there, of one entry: = and the value; empty: nothing; *: whatever
-- ARGV[5]   what names this call
-- ARGV[6]   the last of the changes is this argument
-- ARGV[7…]  fields by turns with = and the value that is written, or nothing for what is removed; what near caches are told,
--           if they are, see announce.lua
--
-- Returns  integer  how many entries there were
--          text     what is there instead, behind a =, or nothing: nothing was changed
--          nil      so many changes are queued, and nothing was changed
-- Replay   once: somebody else may have written in between; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local last = tonumber(ARGV[6])
local n = (last - 6) / 2
if redis.call('xlen', KEYS[2]) + n > tonumber(ARGV[2]) then
	return done(false)
end
if ARGV[4] ~= '*' then
	local there = redis.call('hget', KEYS[1], ARGV[7])
	if (there and '=' .. there or '') ~= ARGV[4] then
		return done(there and '=' .. there or '')
	end
end
-- What fails for good does so before anything is queued, and no key is touched that was emptied here: on a slot that
-- moves the script would end in its middle.
redis.call('hexists', KEYS[3], '')
asked(ARGV[7], ARGV[3])
announce(last + 1, KEYS[4 + n])
local gone, count = {}, 0
for i = 7, last, 2 do
	local there = redis.call('hexists', KEYS[1], ARGV[i])
	if ARGV[i + 1] == '' and there == 1 then
		gone[#gone + 1] = ARGV[i]
	else
		count = count + there
	end
end
-- What takes memory comes first, or a full server would let it pass behind what takes none.
for i = 7, last, 2 do
	queue(KEYS[2], KEYS[3], ARGV[i], ARGV[i + 1], ARGV[5])
	if ARGV[i + 1] ~= '' then
		write(ARGV[i], string.sub(ARGV[i + 1], 2), ARGV[3])
	end
end
if #gone > 0 then
	count = count + redis.call('hdel', KEYS[1], unpack(gone))
end
-- A load that is under way is older, also when the store has the change and nothing is queued any more.
redis.call('del', unpack(KEYS, 4, 3 + n))
return done(count)
