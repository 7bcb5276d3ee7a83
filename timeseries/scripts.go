package timeseries

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	addScript   = scripts.Must(lua, "lua/add.lua")
	pageScript  = scripts.Must(lua, "lua/page.lua")
	takeScript  = scripts.Must(lua, "lua/take.lua")
	countScript = scripts.Must(lua, "lua/count.lua")
	sweepScript = scripts.Must(lua, "lua/sweep.lua")
)

// readPage reads what may be long, and nothing tells how long.
var readPage = send.Sized(pageScript, send.Sizing{})
