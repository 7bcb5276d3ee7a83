package semaphore

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	takeScript     = scripts.Must(lua, "lua/take.lua")
	giveScript     = scripts.Must(lua, "lua/give.lua")
	giveOnceScript = scripts.Must(lua, "lua/give_once.lua")
	moveScript     = scripts.Must(lua, "lua/move.lua")
	settleScript   = scripts.Must(lua, "lua/settle.lua")
	orderScript    = scripts.Must(lua, "lua/order.lua")
	lookScript     = scripts.Must(lua, "lua/look.lua")

	acquireScript  = scripts.Must(lua, "lua/permit_acquire.lua")
	releaseScript  = scripts.Must(lua, "lua/permit_release.lua")
	exchangeScript = scripts.Must(lua, "lua/permit_exchange.lua")
	buryScript     = scripts.Must(lua, "lua/permit_bury.lua")
	countScript    = scripts.Must(lua, "lua/permit_look.lua")
	listScript     = scripts.Must(lua, "lua/permit_list.lua")

	// alone is what sends each request that does not go with others.
	alone = map[kind]*scripts.Script{
		set:    scripts.Must(lua, "lua/set.lua"),
		trySet: scripts.Must(lua, "lua/try_set.lua"),
		add:    scripts.Must(lua, "lua/add.lua"),
		drain:  scripts.Must(lua, "lua/drain.lua"),
		remove: scripts.Must(lua, "lua/delete.lua"),

		setHeld:    scripts.Must(lua, "lua/permit_set.lua"),
		trySetHeld: scripts.Must(lua, "lua/permit_try_set.lua"),
		addHeld:    scripts.Must(lua, "lua/permit_add.lua"),
		removeHeld: scripts.Must(lua, "lua/permit_delete.lua"),
	}
)

// memory is how long the server remembers a request, ms.
var memory = send.MemoryMillis

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
