-- rule_read.lua: what is stored.
--
-- KEYS[1]  the rule, the name itself: "tb1 generation reset n per burst type paused nonce", per in ns
--
-- Returns  nil     there is none
--          string  the rule
-- Replay   safe: it changes nothing
return redis.call('GET', KEYS[1])
