-- remove.lua: remove entries. Those that have expired go, too, and are told of as such.
--
-- Include: bound.lua
-- Include: done.lua
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4]   accesses
-- KEYS[5]   options
-- KEYS[6…]  for each key the lease of who loads it; then what remembers the answer, of a request with an id
-- ARGV[1]   how long it is remembered, ms; 0 without an id
-- ARGV[2]   the caller's clock, ms
-- ARGV[3]   publish or spublish
-- ARGV[4…]  keys
--
-- Returns  integer  how many there were that had not expired
-- Replay   once: a second run finds nothing; with an id it changes nothing
local was, answer = known()
if was then
	return answer
end
local names, count = {unpack(ARGV, 4)}, 0
changing()
redis.call('del', unpack(KEYS, 6, 2 + #ARGV))
for _, name in ipairs(names) do
	local packed, stale = live(name)
	if packed then
		count = count + 1
		if told then
			tell('removed', name, packed)
		end
	elseif stale then
		tell('expired', name, stale)
	end
	if packed or stale then
		forget({name})
	end
end
return done(count)
