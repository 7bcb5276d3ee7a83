-- plain.lua: which keys are missing, and the options of a message.
--
-- Include: options.lua
-- Needs    queue.lua
-- Defines  plain, optioned, options

-- plain says that no message has options, a failed attempt, a delay, a priority or progress, and that the queue is not paused.
-- One look finds all of that missing, as a rule. A script that needs no rare part from its begin on does not look.
local plain = rare and not there(opt, tries, due, prio, pause, progress)
-- optioned says whether any message has options.
local optioned = rare and not plain and there(opt)

-- options returns the options of a message: priority, when it expires (0: never), unique key, group, own attempts, own waits.
local function options(id)
	return parse(optioned and redis.call('hget', opt, id))
end
