-- check.lua: look at the keys of an object, and ask which commands the user may run on them. It writes nothing.
--
-- KEYS[1…]  keys; none if the user may not name them: they are in ARGV[1] then
-- ARGV[1]   JSON: keys, names; looks, read commands; asks, {command, words, indexes of keys from 1}, where a word that is
--           false stands for the key, and no indexes mean that there is none in the words. A name or word that is no
--           UTF-8 is an array of its hexadecimal digits
--
-- Returns  array  {1 if the server can say what the user may do, else 0; a command that names the user, or empty;
--                 the type of each key; the answer to each look, as text, or empty; then by turns the number of an ask
--                 that the user may not make, from 1, and the index of the key, or 0; the numbers of the asks whose
--                 command the server does not have}
-- Replay   reads: it changes nothing
local plan = cjson.decode(ARGV[1])
local may = redis.acl_check_cmd

-- as_bytes puts the bytes of names and words into their places.
local function as_bytes(words)
	for i, word in ipairs(words) do
		if type(word) == 'table' then
			words[i] = string.gsub(word[1], '..', function(digits) return string.char(tonumber(digits, 16)) end)
		end
	end
end
as_bytes(plan.keys)
for _, words in ipairs(plan.looks) do
	as_bytes(words)
end
for _, ask in ipairs(plan.asks) do
	as_bytes(ask.words)
end

-- allowed is nil if the server does not say, and true as second result if it does not have the command. Some servers want
-- as many words as the command takes.
local function allowed(words)
	for _ = 1, 8 do
		local fine, said = pcall(may, unpack(words))
		if fine then
			return said
		end
		local why = type(said) == 'table' and said.err or tostring(said)
		if not string.find(why, 'Wrong number') then
			return nil, string.find(why, 'Invalid command') ~= nil
		end
		words[#words + 1] = '1'
	end
end

local types = {}
for i, key in ipairs(plan.keys) do
	local name = KEYS[i] or key
	local is = ''
	if not may or allowed({'type', name}) then
		is = redis.pcall('type', name)
		if type(is) == 'table' then
			is = is.ok or ''
		end
	end
	types[i] = is
end

local seen = {}
for i, words in ipairs(plan.looks) do
	local got = false
	if not may or allowed({unpack(words)}) then
		got = redis.pcall(unpack(words))
	end
	if type(got) == 'table' then -- of HRANDFIELD: the length of the value, and how it begins
		local value = not got.err and got[2]
		got = type(value) == 'string' and #value .. ':' .. string.sub(value, 1, 16)
	end
	seen[i] = (type(got) == 'string' or type(got) == 'number') and tostring(got) or ''
end

local denied, missing, who = {}, {}, ''
if may then
	for i, ask in ipairs(plan.asks) do
		local on = #ask.on > 0 and ask.on or {0}
		for _, k in ipairs(on) do
			local words = {ask.command}
			for _, word in ipairs(ask.words) do
				words[#words + 1] = word or plan.keys[k]
			end
			local said, unknown = allowed(words)
			if said == false then
				denied[#denied + 1] = i
				denied[#denied + 1] = k
			elseif unknown then
				missing[#missing + 1] = i
				break
			end
		end
	end
	if #denied > 0 then
		who = allowed({'acl', 'whoami'}) and 'whoami' or allowed({'client', 'info'}) and 'info' or ''
	end
end
return {may and 1 or 0, who, types, seen, denied, missing}
