package exchange

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	takeScript   = scripts.Must(lua, "lua/take.lua")
	decideScript = scripts.Must(lua, "lua/decide.lua")
	cancelScript = scripts.Must(lua, "lua/cancel.lua")
	blockScript  = scripts.Must(lua, "lua/block.lua")
	resetScript  = scripts.Must(lua, "lua/reset.lua")

	ruleReadScript   = scripts.Must(lua, "lua/rule_read.lua")
	ruleCreateScript = scripts.Must(lua, "lua/rule_create.lua")
	ruleSetScript    = scripts.Must(lua, "lua/rule_set.lua")
	rulePauseScript  = scripts.Must(lua, "lua/rule_pause.lua")
	ruleDeleteScript = scripts.Must(lua, "lua/rule_delete.lua")
)

// Commands are those of all scripts.
var Commands = check.Scripts(lua, "lua/*.lua")
