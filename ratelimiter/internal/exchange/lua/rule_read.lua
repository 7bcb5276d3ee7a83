-- rule_read.lua: what is stored, which lives on.
--
-- Include: rule.lua
-- KEYS[1]  the rule, the name itself
--
-- Returns  nil     there is none
--          string  the rule
-- Replay   safe: it changes nothing but when a rule goes that nobody uses
local there = redis.call('GET', KEYS[1])
return there and used(KEYS[1], there)
