-- terms.lua: the terms of a reliable queue, as meta has them: "attempts|dead messages|their age, ms|lease, ms|messages in
-- flight|waits after the failed attempts, ms, with blanks|how long a message is kept that is done, ms|messages of a group under
-- way". A term that is empty
-- is the default, and so is one that is missing, as an earlier version has left it.
--

local no_terms = '|||||||'

local function split(terms)
	local all = {}
	for term in string.gmatch(terms .. '|', '([^|]*)|') do
		all[#all + 1] = term
	end
	for i = #all + 1, 8 do
		all[i] = ''
	end
	return all
end

-- agree fills the terms that a queue lacks with those that a consumer was given. It returns the terms of the queue, and
-- whether one that was given differs. The lease of a consumer is its own.
local function agree(terms, given)
	local ours, differs = split(terms), false
	for i, term in ipairs(split(given)) do
		if term ~= '' and i ~= 4 then
			if ours[i] == '' then
				ours[i] = term
			elseif ours[i] ~= term then
				differs = true
			end
		end
	end
	return table.concat(ours, '|'), differs
end

-- backoff returns how long a message waits after its n-th failed attempt, ms. waits are those of the message or of the queue,
-- '' is the default: a second, twice that after each further attempt, at most ten minutes, a tenth more or less.
local function backoff(waits, n, id)
	if waits == '' then
		local ms = n > 10 and 600000 or math.min(1000 * 2 ^ (n - 1), 600000)
		return math.floor(ms * (0.9 + 0.2 * ((id * 0.6180339887 + n * 0.7548776662) % 1)))
	end
	local last = 0
	for ms in string.gmatch(waits, '%d+') do
		last, n = tonumber(ms), n - 1
		if n == 0 then
			break
		end
	end
	return last
end
