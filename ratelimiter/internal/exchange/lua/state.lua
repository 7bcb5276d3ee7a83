-- state.lua: how a bucket is kept: as four numbers, or five, of seven bytes each, the highest first.
--
-- Include: struct.lua
-- They are the generation of the rule, t, w, f, and b: w tokens and f ticks are missing as of server time t, µs; nothing
-- is granted before b, µs. Full and not blocked means absent.

-- load is the numbers of a state, the last 0 where there is none; nil if the text is no state. Seven bytes of what people
-- write are a number above 2^53, or below 0 where they do not begin with a letter of ASCII.
local function load(state)
	local g, t, w, f, b
	if #state == 28 then
		g, t, w, f = struct.unpack('>i7i7i7i7', state)
	elseif #state == 35 then
		g, t, w, f, b = struct.unpack('>i7i7i7i7i7', state)
	else
		return nil
	end
	b = b or 0
	if t >= 0 and t < 9007199254740992 and w >= 0 and f >= 0 and b >= 0 then
		return g, t, w, f, b
	end
end

-- known is t, or where that cannot be, what takes its place; today is the time in the rule's unit. A state of the future:
-- for up to a second the clock may have been set back, and in a block it is meant. Beyond, there was a failover, or a
-- clock was wrong. Who waits may have been told a time that counts from a t up to a second ahead, or from the end of a
-- block; what refilled until then would be granted twice.
local function known(t, now, today, waiting, block)
	if t <= today + 1000000 or t <= block then
		return t
	end
	return (waiting or block > now) and today + 1000000 or today
end
