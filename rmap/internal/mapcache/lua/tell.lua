-- tell.lua: what is published about entries. The third argument of all scripts that include it is publish or spublish. Where
-- near caches are told of changes, too, there follow a space, the length of their channel, a space, the channel, and what
-- they are told of the entries that the caller names.
local publish, channel, changes = ARGV[3], nil, ''
if #publish > 8 then
	local word, wide, from = string.match(ARGV[3], '^(%a+) (%d+) ()')
	publish = word
	channel = string.sub(ARGV[3], from, from + wide - 1)
	changes = string.sub(ARGV[3], from + wide)
end

-- changing tells near caches of the entries that the caller names, once. It comes before they change, so that a user who
-- may not publish changes nothing; nobody sees that before the script has ended.
local function changing()
	if changes ~= '' then
		redis.call(publish, channel, changes)
		changes = ''
	end
end

-- dropping tells near caches of other entries, before they go. Their hashes are not known here, so that it is a word of
-- ours: R, and each key behind its length, four bytes big-endian. No key at all is any: so it is where they are long.
local function dropping(names)
	if not channel or #names == 0 then
		return
	end
	local parts, bytes = {'R'}, 0
	for _, name in ipairs(names) do
		local n = #name
		bytes = bytes + n
		if bytes > 262144 then
			parts = {'R'}
			break
		end
		parts[#parts + 1] = string.char(math.floor(n / 16777216), math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
		parts[#parts + 1] = name
	end
	redis.call(publish, channel, table.concat(parts))
end

-- Events are in Redisson's bytes: for each part its length, eight bytes little-endian, and itself.
local prefix = string.len('redisson__timeout__set') + 1

local function size(n)
	return string.char(n % 256, math.floor(n / 256) % 256, math.floor(n / 65536) % 256, math.floor(n / 16777216), 0, 0, 0, 0)
end

-- tell publishes what has happened to an entry, and returns how many heard it. Length and bytes of a value stand in the
-- hash as they do in an event. An ACL that denies the channel must not turn a write into an error.
local function tell(event, key, packed, old)
	local parts = size(#key) .. key .. string.sub(packed, 9) .. (old and string.sub(old, 9) or '')
	local heard = redis.pcall(publish, 'redisson_map_cache_' .. event .. string.sub(KEYS[2], prefix), parts)
	return type(heard) == 'number' and heard or 0
end
