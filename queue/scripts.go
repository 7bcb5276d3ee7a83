package queue

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
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
var memory = strconv.FormatInt(core.Millis(send.RequestMemory), 10)
