-- json_add.lua: add to the numbers at a path, if that is exact. The module would let an integer overflow, would round one
-- that it adds to a fraction, and would fail at a sum that is too large for a number when it has changed those before.
--
-- KEYS[1]  document
-- ARGV[1]  path
-- ARGV[2]  what is added
-- ARGV[3]  the bound below which an integer has to be that is there
-- ARGV[4]  1 if a number with a fraction may be there, else 0
-- ARGV[5]  the bound below which the sum with an integer has to be
--
-- Returns  text     an array of the new numbers; null for a place with something else
--          nil      there is no number
--          integer  0 there is a number to which this cannot be added, and nothing was added
-- Replay   once: a second run would add again
local types = redis.call('json.type', KEYS[1], ARGV[1])
local values
local function below(n, bound) return math.abs(n) < tonumber(bound) end
for i, is in ipairs(types or {}) do
	if is == 'integer' or is == 'number' then
		values = values or cjson.decode(redis.call('json.get', KEYS[1], ARGV[1]))
		local sum = values[i] + tonumber(ARGV[2])
		if is == 'integer' and not (below(values[i], ARGV[3]) and below(sum, ARGV[5])) then
			return 0
		elseif is == 'number' and (ARGV[4] == '0' or math.abs(sum) == math.huge) then
			return 0
		end
	end
end
return values and redis.call('json.numincrby', KEYS[1], ARGV[1], ARGV[2])
