-- get.lua: read an entry, which counts as an access. A full server refuses what may take memory, unless the script has
-- begun with a write which takes none: zremrangebyrank of no ranks. Reads go on there.
--
-- KEYS[1]   hash
-- KEYS[2]   times to live
-- KEYS[3]   idle times
-- KEYS[4…]  accesses, if they are noted or the options are asked for; then options, if they are
-- ARGV[1]   the caller's clock, ms
-- ARGV[2]   key
-- ARGV[3]   how accesses are noted: LRU, LFU, or empty: not at all
--
-- Returns  string  the entry as the hash has it
--          nil     there is none, or it has expired
--          array   with options: {largest size, mode, whether somebody listens, entry}
-- Replay   safe: the second access is one like the first, and of no weight
local packed = redis.call('hget', KEYS[1], ARGV[2])
if packed then
	local ends = redis.call('zscore', KEYS[2], ARGV[2])
	if ends and tonumber(ends) <= tonumber(ARGV[1]) then
		packed = nil
	else
		local g, h = string.byte(packed, 7, 8)
		if h and g + h ~= 0 then -- the idle time, a double; see idle.lua
			local a, b, c, d, e, f = string.byte(packed, 1, 6)
			local fraction = ((((((g % 16 * 256 + f) * 256 + e) * 256 + d) * 256 + c) * 256 + b) * 256 + a)
			local rest = math.ldexp(fraction + 2 ^ 52, h % 128 * 16 + math.floor(g / 16) - 1075)
			ends = redis.call('zscore', KEYS[3], ARGV[2])
			if ends and tonumber(ends) <= tonumber(ARGV[1]) then
				packed = nil
			else
				local at = string.format('%.0f', ARGV[1] + rest)
				if type(redis.pcall('zadd', KEYS[3], at, ARGV[2])) == 'table' then
					redis.call('zremrangebyrank', KEYS[3], 1, 0)
					redis.call('zadd', KEYS[3], at, ARGV[2])
				end
			end
		end
	end
end
if not KEYS[4] then
	return packed
end
local mode, options = ARGV[3], nil
if KEYS[5] then
	options = redis.call('hmget', KEYS[5], 'max-size', 'mode', 'has-listeners')
	local most = tonumber(options[1] or 0)
	mode = most and most >= 1 and (options[2] == 'LFU' and 'LFU' or 'LRU') or ''
end
if packed and mode ~= '' then
	local note, by = 'zadd', ARGV[1]
	if mode == 'LFU' then
		note, by = 'zincrby', 1
	end
	if type(redis.pcall(note, KEYS[4], by, ARGV[2])) == 'table' then
		redis.call('zremrangebyrank', KEYS[4], 1, 0)
		redis.call(note, KEYS[4], by, ARGV[2])
	end
end
if options then
	options[4] = packed or false
	return options
end
return packed
