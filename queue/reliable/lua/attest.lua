-- attest.lua: how messages have ended whose end somebody awaits, see Queue.Transfer.
--
-- Include: remember.lua
-- Needs    queue.lua, options.lua
-- Defines  attest, if rare
--
-- finished has it for a minute, in a field "=id": a, acknowledged; d, buried; e, expired; c, removed when somebody had it or had
-- had it; x, removed before that. An announcement may be lost: then a waiter finds it there. A message that was buried stays that,
-- whatever a handler of the dead does with it, unless it is tried again.
local attest
if rare then
	-- attest keeps how the messages have ended whose options ask for it. texts are their fields of opt.
	function attest(ids, texts, how)
		local n, all, ends = 0, {}, {}
		for i = 1, #ids do
			if texts[i] and select(7, parse(texts[i])) then
				local buried = redis.call('hexists', tries, ids[i] .. '#') == 1 -- and with a handler of the dead
				n = n + 1
				all[2 * n - 1], all[2 * n] = '=' .. ids[i], buried and 'd' or how
				ends[2 * n - 1], ends[2 * n] = whole(now + 60000), '=' .. ids[i]
			end
		end
		if n > 0 then
			remember(n, all, ends, 60000)
		end
	end
end
