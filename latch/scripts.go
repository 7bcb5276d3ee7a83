package latch

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	downScript     = scripts.Must(lua, "lua/down.lua")
	downOnceScript = scripts.Must(lua, "lua/down_once.lua")
	trySetScript   = scripts.Must(lua, "lua/try_set.lua")
	deleteScript   = scripts.Must(lua, "lua/delete.lua")
	lookScript     = scripts.Must(lua, "lua/look.lua")

	arriveScript      = scripts.Must(lua, "lua/arrive.lua")
	leaveScript       = scripts.Must(lua, "lua/leave.lua")
	watchScript       = scripts.Must(lua, "lua/watch.lua")
	waitingScript     = scripts.Must(lua, "lua/waiting.lua")
	resetScript       = scripts.Must(lua, "lua/reset.lua")
	forgetScript      = scripts.Must(lua, "lua/forget.lua")
	keepScript        = scripts.Must(lua, "lua/keep.lua")
	departScript      = scripts.Must(lua, "lua/depart.lua")
	insideScript      = scripts.Must(lua, "lua/inside.lua")
	passScript        = scripts.Must(lua, "lua/pass.lua")
	keepWaitingScript = scripts.Must(lua, "lua/keep_waiting.lua")
	keepKeyScript     = scripts.Must(lua, "lua/keep_key.lua")
)

// memory is how long the server remembers a request and an opening, ms.
var memory = send.MemoryMillis

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
