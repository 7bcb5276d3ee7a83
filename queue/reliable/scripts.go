package reliable

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	addScript    = scripts.Must(lua, "lua/add.lua")
	stepScript   = scripts.Must(lua, "lua/step.lua")
	extendScript = scripts.Must(lua, "lua/extend.lua")

	statsScript   = scripts.Must(lua, "lua/stats.lua")
	findScript    = scripts.Must(lua, "lua/find.lua")
	listScript    = scripts.Must(lua, "lua/list.lua")
	removeScript  = scripts.Must(lua, "lua/remove.lua")
	redriveScript = scripts.Must(lua, "lua/redrive.lua")
	purgeScript   = scripts.Must(lua, "lua/purge.lua")
	resultScript  = scripts.Must(lua, "lua/result.lua")
	pauseScript   = scripts.Must(lua, "lua/pause.lua")
	deleteScript  = scripts.Must(lua, "lua/delete.lua")
)

func decimal[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }
