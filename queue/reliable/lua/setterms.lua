-- setterms.lua: change the terms of a reliable queue.
--
-- Include: queue.lua
-- Include: terms.lua
-- Include: done.lua
-- KEYS[1…22] the parts of the queue, see queue.lua
-- KEYS[23…]  what remembers the answer
-- ARGV[1]    how long it is remembered, ms
-- ARGV[2]    the terms
-- ARGV[3]    of those that are empty: stay, or reset: they are the default again
--
-- Returns  integer  1 they were others before, 0 they were not
-- Replay   safe: the request is known then
local was, answer = known()
if was then
	return answer
end
if later_queue() then
	return later_queue()
end
local before = redis.call('hget', meta, 'terms') or no_terms
local terms = split(before)
for i, term in ipairs(split(ARGV[2])) do
	if i == 8 and term == '' and terms[i] ~= '' and ARGV[3] == 'reset' then
		terms[i] = '1' -- the default; an empty one says that no group has ever had several
	elseif term ~= '' or ARGV[3] == 'reset' then
		terms[i] = term
	end
end
terms = table.concat(terms, '|')
if terms == before then
	return done(0)
end
redis.call('hset', meta, 'terms', terms)
return done(1)
