package reliable

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	addScript    = scripts.Must(lua, "lua/add.lua")
	stepScript   = scripts.Must(lua, "lua/step.lua")
	extendScript = scripts.Must(lua, "lua/extend.lua")

	statsScript    = scripts.Must(lua, "lua/stats.lua")
	findScript     = scripts.Must(lua, "lua/find.lua")
	listScript     = scripts.Must(lua, "lua/list.lua")
	removeScript   = scripts.Must(lua, "lua/remove.lua")
	redriveScript  = scripts.Must(lua, "lua/redrive.lua")
	changeScript   = scripts.Must(lua, "lua/change.lua")
	purgeScript    = scripts.Must(lua, "lua/purge.lua")
	resultScript   = scripts.Must(lua, "lua/result.lua")
	pauseScript    = scripts.Must(lua, "lua/pause.lua")
	termsScript    = scripts.Must(lua, "lua/setterms.lua")
	progressScript = scripts.Must(lua, "lua/progress.lua")
	deleteScript   = scripts.Must(lua, "lua/delete.lua")
)

// What brings bodies, which may be long. A take is sent again under its number.
var (
	takes     = send.Sized(stepScript, send.Sizing{Writes: true})
	finds     = send.Sized(findScript, send.Sizing{})
	lists     = send.Sized(listScript, send.Sizing{})
	asksAfter = send.Sized(resultScript, send.Sizing{})
)

func decimal[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }
