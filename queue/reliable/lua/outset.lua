-- outset.lua: what a step finds, and what it is asked.
--
-- Include: plain.lua
-- Include: terms.lua
-- Needs    queue.lua; ARGV[9], ARGV[17], ARGV[18] and what follows
-- Defines  before, format, large, acked_before   of meta: last delivery, format, mark of large bodies, counter
--          terms, term                           the terms of the queue
--          acks, results, results_at, nacks, nacks_at   how many there are, and the index before the first
--          takes_dead                            whether the consumer takes messages that are dead
--          late                                  whether leases have run out
--          keeps_done                            whether the terms may say that messages are kept that are done
--          amiss                                 whether attempts are to be settled that were made in vain
--          rare                                  whether the step needs the functions of rare parts
local known = redis.call('hmget', meta, 'delivery', 'format', 'large', 'terms', 'acked')
local before, format, large, terms, acked_before = known[1], known[2], known[3], known[4] or no_terms, known[5]

-- term returns a term of the queue, or its default.
local every -- the terms one by one, as soon as one of them is asked for
local function term(i, otherwise)
	every = every or split(terms)
	return tonumber(every[i]) or otherwise
end

local acks = tonumber(ARGV[18])
local results_at = 19 + 2 * acks
local results = tonumber(ARGV[results_at])
local nacks_at = results_at + 1 + 3 * results
local nacks = tonumber(ARGV[nacks_at])
local takes_dead = ARGV[17] == 'd'
local late = redis.call('zcount', lease, '-inf', whole(now)) > 0

-- As a rule a step has acks alone, and nothing is kept of what is done.
local amiss = nacks > 0 or late
local keeps_done = terms ~= ARGV[9] or terms ~= no_terms and term(7, 0) > 0
rare = amiss or not plain or takes_dead or keeps_done
