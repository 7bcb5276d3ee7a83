-- append.lua: append to a list, so that a second run shows.
--
-- KEYS[1]  list
-- ARGV[1]  element
--
-- Returns  integer  length of the list
-- Replay   unsafe: a second run appends again
return redis.call('rpush', KEYS[1], ARGV[1])
