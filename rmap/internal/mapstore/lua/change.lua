-- change.lua: write or remove an entry if it is what the caller has seen.
--
-- Include: announce.lua
-- Include: done.lua
-- Include: unlease.lua
-- Include: write.lua
-- KEYS[1]   map
-- KEYS[2…]  the log of near caches, where they are told; the claim, where one is looked at; with a time to live, who loads the entry; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   field
-- ARGV[3]   1 if the caller has seen an entry, 0 if none, 2 if it only looks
-- ARGV[4]   what it has seen
-- ARGV[5]   1 to write, 0 to remove
-- ARGV[6]   what is written
-- ARGV[7]   time to live: ms, or keep for what the entry has; empty: for ever
-- ARGV[8]   which of the keys is the claim of the one that goes before others; 0: nobody looks at it
-- ARGV[9]   what names the caller there
-- ARGV[10]  for how long the caller goes first if it was not done, ms; 0: not at all
-- ARGV[11…] what near caches are told, if they are; see announce.lua
--
-- Returns  integer  1 it was done; 0 another goes first, and nothing was done
--          text     what is there instead
--          nil      nothing is there, where the caller has seen an entry
-- Replay   once: a second run finds what the first has written; with an id it is safe
local was, answer = known()
if was then
	return answer
end
local claim, first = KEYS[tonumber(ARGV[8])], nil
if claim then
	first = redis.call('get', claim)
	if first and first ~= ARGV[9] then
		return done(0)
	end
end
local there = redis.call('hget', KEYS[1], ARGV[2])
if ARGV[3] == '1' and there ~= ARGV[4] or ARGV[3] == '0' and there or ARGV[3] == '2' then
	if claim and ARGV[10] ~= '0' then
		redis.pcall('set', claim, ARGV[9], 'PX', ARGV[10]) -- a full server has no room for it
	end
	return done(there)
end
announce(11)
if ARGV[5] == '1' then
	write(ARGV[2], ARGV[6], ARGV[7])
elseif there then
	redis.call('hdel', KEYS[1], ARGV[2])
end
unlease(ARGV[7], 1)
if first then
	redis.call('del', claim)
end
return done(1)
