-- agreed.lua: the terms of a queue and those of a consumer.
--
-- Needs    queue.lua, outset.lua; ARGV[9], ARGV[10], ARGV[13]
-- Defines  agreed, if the terms are not those that the consumer has named
local agreed
if terms ~= ARGV[9] then
	-- agreed fills the terms that the queue lacks with those that the consumer was given. It returns what the consumer is told: "="
	-- and the terms, "!" and the terms if they refuse it, or "" if by now they are those that it has named.
	function agreed()
		local all, differs = agree(terms, ARGV[10])
		if differs and ARGV[13] == '1' then
			return '!' .. terms
		end
		if all ~= terms then
			redis.call('hset', meta, 'terms', all)
			terms, every = all, nil
		end
		return terms ~= ARGV[9] and '=' .. terms or ''
	end
end
