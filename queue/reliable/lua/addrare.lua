-- addrare.lua: an add needs rare parts if messages have options.
--
-- Needs    queue.lua; ARGV[7]
-- Sets     rare
rare = ARGV[7] ~= ''
