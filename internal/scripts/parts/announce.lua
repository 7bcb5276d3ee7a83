-- announce.lua: near caches are told what is about to change.

-- announce publishes what the arguments from the given one on say, if there are any: the command, the channel, the
-- message, and of the log, KEYS[2] unless another key is given, when, and what. It comes before what it is about, so that a user who may not
-- publish changes nothing; nobody sees that before the script has ended.
local function announce(from, log)
	if not ARGV[from] then
		return
	end
	log = log or KEYS[2]
	if ARGV[from + 3] and redis.call('exists', log) == 1 then
		for i = from + 4, #ARGV do
			redis.call('zadd', log, ARGV[from + 3], ARGV[i])
		end
	end
	redis.call(ARGV[from], ARGV[from + 1], ARGV[from + 2])
end
