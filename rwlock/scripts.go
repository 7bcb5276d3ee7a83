package rwlock

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	readAcquireScript  = scripts.Must(lua, "lua/read_acquire.lua")
	readReleaseScript  = scripts.Must(lua, "lua/read_release.lua")
	writeAcquireScript = scripts.Must(lua, "lua/write_acquire.lua")
	writeReleaseScript = scripts.Must(lua, "lua/write_release.lua")
	downgradeScript    = scripts.Must(lua, "lua/downgrade.lua")
	renewScript        = scripts.Must(lua, "lua/renew.lua")
	markScript         = scripts.Must(lua, "lua/mark.lua")
	forceScript        = scripts.Must(lua, "lua/force.lua")
	inspectScript      = scripts.Must(lua, "lua/inspect.lua")
	leasesScript       = scripts.Must(lua, "lua/leases.lua")
	clearScript        = scripts.Must(lua, "lua/clear.lua")
	withdrawScript     = scripts.Must(lua, "lua/withdraw.lua")
	deleteCommand      = scripts.NewCommand("DEL", scripts.Safe)
)
