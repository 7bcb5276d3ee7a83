-- agreed.lua: what a step does before it settles and takes: the format, a full server, the terms.
--
-- Needs    queue.lua, outset.lua; ARGV[9], ARGV[10], ARGV[13]
-- Defines  news   what the consumer is told of the terms: "=" and the terms, "!" and the terms if they refuse it, "" if they are
--                 those that it has named. It takes nothing if there are news.
if later(format) then
	return later(format)
end
-- A full server does not refuse ZREM, and lets what follows it in a script pass. Acks begin with one.
if acks == 0 or not format or terms ~= ARGV[9] then
	redis.call('zrem', lease, '')
end
if not format and there(body) then
	redis.call('hset', meta, 'large', '1') -- those that were added by an earlier version may be large
	large = true
end

-- The queue gets the terms that it lacks and the consumer was given.
local news = ''
if terms ~= ARGV[9] then
	local all, differs = agree(terms, ARGV[10])
	if differs and ARGV[13] == '1' then
		news = '!' .. terms
	else
		if all ~= terms then
			redis.call('hset', meta, 'terms', all)
			terms, every = all, nil
		end
		news = terms ~= ARGV[9] and '=' .. terms or ''
	end
end
