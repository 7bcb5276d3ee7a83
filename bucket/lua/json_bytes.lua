-- json_bytes.lua: measure the text of what is at a path of a document.
--
-- KEYS[1]  document
-- ARGV[1]  path
--
-- Returns  integer  bytes, 0 if there is no document
-- Replay   reads: it changes nothing
return #(redis.call('json.get', KEYS[1], ARGV[1]) or '')
