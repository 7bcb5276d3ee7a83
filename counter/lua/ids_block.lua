-- ids_block.lua: take ids from a generator: whole blocks, or so many. The ids go on after all that the caller has had.
--
-- Include: integer.lua
-- Include: less.lua
-- KEYS[1]  ids: the next one, decimal
-- KEYS[2]  how many are in a block: decimal
-- ARGV[1]  what comes after the highest id that the caller has had; empty: it has had none
-- ARGV[2]  take as many whole blocks as are in this number, but one at least; at most 2^20
-- ARGV[3]  in place of blocks, so many ids; 0: blocks
--
-- Returns  array  texts: the first of the ids, how many there are, how many are in a block
-- Replay   safe: what a lost answer has brought is a gap
local next_id, there = integer(KEYS[1])
if not next_id then
	return there
end
local size, set = integer(KEYS[2])
if not size then
	return redis.error_reply('BLOCKSIZE there is no integer')
elseif not set then
	size = '5000'
elseif not less('0', size) then
	return redis.error_reply('BLOCKSIZE it is not above 0')
end
if not there then
	next_id = '1'
end
if ARGV[1] ~= '' and less(next_id, ARGV[1]) then
	next_id, there = ARGV[1], false -- the server has forgotten what it gave
end
local n = ARGV[3]
if n == '0' then
	n = size
	local blocks = math.floor(tonumber(ARGV[2]) / tonumber(size))
	if blocks > 1 then
		n = string.format('%.0f', blocks * tonumber(size)) -- up to 2^20, which a double has
	end
end
if not set then
	redis.call('set', KEYS[2], size)
end
if not there then
	redis.call('set', KEYS[1], next_id, 'KEEPTTL')
end
local done = redis.pcall('incrby', KEYS[1], n)
if type(done) == 'table' and n ~= size and ARGV[3] == '0' then
	n = size
	done = redis.pcall('incrby', KEYS[1], n)
end
if type(done) == 'table' then
	return string.find(done.err, 'would overflow', 1, true) and redis.error_reply('EXHAUSTED there are fewer ids left') or done
end
return {next_id, n, size}
