-- change.lua: write or remove an entry if it is what the caller has seen.
--
-- Include: store.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6]   lease of who loads the entry
-- KEYS[7…]  the claim of the one that goes before others, where it is looked at; what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4]   key
-- ARGV[5]   what the caller has seen: = and the value; empty: nothing that lives; *: it only looks
-- ARGV[6]   what is to be there then: the entry as the hash has it; empty: nothing
-- ARGV[7]   when it ends, ms; empty: when the one that was there does, or never; 0: never
-- ARGV[8]   when it has rested for too long, ms; empty: by the idle time of the one that was there, or never
-- ARGV[9]   what names the caller in the claim; empty: nobody looks at it
-- ARGV[10]  for how long the caller goes first if it was not done, ms; 0: not at all
--
-- Returns  array  {what the bound needs, see store.lua; 1: it was done; 0: another goes first, and nothing was done; else the living entry that is there, or nil;
--                 how many entries it has evicted}
-- Replay   once: a second run finds what the first has written; with an id it changes nothing
local was, answer = known()
if was then
	return {0, answer, 0}
end
local claim, first = ARGV[9] ~= '' and KEYS[7], nil
if claim then
	first = redis.call('get', claim)
	if first and first ~= ARGV[9] then
		return {0, done(0), 0}
	end
end
local old, rest = live(ARGV[4])
if (old and '=' .. string.sub(old, 17) or '') ~= ARGV[5] then
	if claim and ARGV[10] ~= '0' then
		redis.pcall('set', claim, ARGV[9], 'PX', ARGV[10]) -- a full server has no room for it
	end
	return {0, done(old or false), 0}
end
local left = 0
if ARGV[6] == '' then
	if old then
		changing()
		forget({ARGV[4]})
		if told then
			tell('removed', ARGV[4], old)
		end
	end
elseif old then
	left = replace(ARGV[4], ARGV[6], ARGV[7], ARGV[8], old, rest)
else
	left = write(ARGV[4], ARGV[6], ARGV[7], ARGV[8])
end
redis.call('del', KEYS[6])
if first then
	redis.call('del', claim)
end
return {left, done(1), evicted}
