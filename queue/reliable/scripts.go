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
)

func decimal[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }
