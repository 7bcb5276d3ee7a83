package queue

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	backScript   = scripts.Must(lua, "lua/back.lua")
	expireScript = scripts.Must(lua, "lua/expire.lua")
	copyScript   = scripts.Must(lua, "lua/copy.lua")
	renameScript = scripts.Must(lua, "lua/rename.lua")
)

// memory is how long the server remembers a request, ms.
var memory = strconv.FormatInt(engine.Millis(engine.RequestMemory), 10)
