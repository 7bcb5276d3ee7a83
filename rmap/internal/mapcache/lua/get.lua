-- get.lua: read entries, which counts as an access to each. It has no functions: making them takes the server as long as
-- what they do. What is refused of noting accesses is note.lua's business.
--
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4…]  accesses, if they are noted or the options are asked for; then options, if they are
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   how accesses are noted: LRU, LFU, or empty: not at all
-- ARGV[3…]  keys
--
-- Runs     zadd zincrby
-- Returns  array  for each key the entry as the hash has it, or nil: there is none, or it has expired; with options
--                 largest size, mode, whether somebody listens, and most bytes, behind them
-- Replay   safe: the second access is one like the first, and of no weight
local found, ends = redis.call('hmget', KEYS[1], unpack(ARGV, 3)), redis.call('zmscore', KEYS[2], unpack(ARGV, 3))
local mode, options, refused = ARGV[2], nil, nil
if KEYS[5] then
	options = redis.call('hmget', KEYS[5], 'max-size', 'mode', 'has-listeners', 'rueidisson-max-bytes')
	local bounded = (tonumber(options[1] or 0) or 0) >= 1 or (tonumber(options[4] or 0) or 0) >= 1
	mode = bounded and (options[2] == 'LFU' and 'LFU' or 'LRU') or ''
end
for i = 1, #found do
	local packed, key = found[i], ARGV[i + 2]
	if packed and ends[i] and tonumber(ends[i]) <= tonumber(ARGV[1]) then
		packed = false
	elseif packed then
		local g, h = string.byte(packed, 7, 8)
		if h and g + h ~= 0 then -- the idle time, a double; see idle.lua
			local a, b, c, d, e, f = string.byte(packed, 1, 6)
			local fraction = ((((((g % 16 * 256 + f) * 256 + e) * 256 + d) * 256 + c) * 256 + b) * 256 + a)
			local rest = math.ldexp(fraction + 2 ^ 52, h % 128 * 16 + math.floor(g / 16) - 1075)
			local over = redis.call('zscore', KEYS[3], key)
			if over and tonumber(over) <= tonumber(ARGV[1]) then
				packed = false
			else
				local at = string.format('%.0f', ARGV[1] + rest)
				local noted = redis.pcall('zadd', KEYS[3], at, key)
				if type(noted) == 'table' then
					refused = refused or {}
					refused[#refused + 1] = {noted.err or '', 'zadd', KEYS[3], at, key}
				end
			end
		end
	end
	found[i] = packed
	if packed and mode ~= '' then
		local note, by = 'zadd', ARGV[1]
		if mode == 'LFU' then
			note, by = 'zincrby', 1
		end
		local noted = redis.pcall(note, KEYS[4], by, key)
		if type(noted) == 'table' then
			refused = refused or {}
			refused[#refused + 1] = {noted.err or '', note, KEYS[4], by, key}
		end
	end
end
if refused then -- see note.lua
	for _, what in ipairs(refused) do
		local why, how, side, by, key = unpack(what)
		if string.find(why, 'WRONGTYPE') or string.find(why, 'READONLY') then
			redis.call(how, side, by, key)
		elseif type(redis.pcall('zremrangebyrank', side, 1, 0)) == 'table' then
			break
		else
			redis.pcall(how, side, by, key)
		end
	end
end
for i = 1, options and 4 or 0 do
	found[#ARGV - 2 + i] = options[i]
end
return found
