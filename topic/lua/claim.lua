-- claim.lua: take over messages of a group that nobody has been at work on for a time.
--
-- A message that was dropped meanwhile is counted as missed: nobody has it any more. XAUTOCLAIM would forget it. What
-- was redriven is in a stream of its own, and all of it is pending; it comes first.
--
-- KEYS[1]  stream {name}
-- KEYS[2]  hash: durable group → how many messages it has missed
-- KEYS[3]  stream of what the group has redriven, with the fields of what was put aside
-- ARGV[1]  group
-- ARGV[2]  consumer
-- ARGV[3]  for how long nobody has been at work on them, ms
-- ARGV[4]  from which id on: '-', or '(id' for those behind it
-- ARGV[5]  how many
-- ARGV[6]  1: the group is durable
--
-- Returns  array  {from which id on the next call goes on, '' at the end; the messages; how many the group has missed; how often each was delivered; what was redriven; how often each of these was delivered}
-- Replay   safe: what was counted is no longer pending; what was taken over waits for the time again
local function take(stream, from, most)
	local pending = redis.call('xpending', stream, ARGV[1], 'IDLE', ARGV[3], from, '+', most)
	local messages, counts, gone, last = {}, {}, 0, ''
	for _, it in ipairs(pending) do
		local got = redis.call('xclaim', stream, ARGV[1], ARGV[2], 0, it[1]) -- how long it rested was asked for already
		if got[1] then
			messages[#messages + 1] = got[1]
			counts[#counts + 1] = it[4] + 1
		else
			redis.call('xack', stream, ARGV[1], it[1]) -- no effect since Redis 7: the claim has done it
			gone = gone + 1
		end
		last = it[1]
	end
	return messages, counts, gone, #pending, last
end

local most, durable = tonumber(ARGV[5]), ARGV[6] == '1'
local again, againCounts, n = {}, {}, 0
if durable and ARGV[4] == '-' and redis.call('exists', KEYS[3]) == 1 then
	local _
	again, againCounts, _, n = take(KEYS[3], '-', most)
	if n == most then
		return {'-', {}, 0, {}, again, againCounts}
	end
end
local messages, counts, gone, m, last = take(KEYS[1], ARGV[4], most - n)
local from = m == most - n and '(' .. last or ''
if not durable then
	return {from, messages, 0, counts, again, againCounts}
end
if gone > 0 then
	redis.call('hincrby', KEYS[2], ARGV[1], gone)
end
return {from, messages, tonumber(redis.call('hget', KEYS[2], ARGV[1]) or 0), counts, again, againCounts}
