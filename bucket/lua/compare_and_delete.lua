-- compare_and_delete.lua: delete a bucket if what is there has the bytes of a value.
--
-- KEYS[1]  bucket
-- ARGV[1]  what has to be there
--
-- Returns  integer  1 it was deleted, 0 something else is there, or nothing
-- Replay   once: a second run finds nothing, or what another client has written since
if redis.call('get', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('unlink', KEYS[1])
