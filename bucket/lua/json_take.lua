-- json_take.lua: delete a document, and read what it had.
--
-- KEYS[1]  document
--
-- Returns  text  an array of the document
--          nil   there is none
-- Replay   unsafe: what was there is in the answer only
local there = redis.call('json.get', KEYS[1], '$')
if there then
	redis.call('unlink', KEYS[1])
end
return there
