package bitset

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	getScript     = scripts.Must(lua, "lua/get.lua")
	writeScript   = scripts.Must(lua, "lua/write.lua")
	addScript     = scripts.Must(lua, "lua/add.lua")
	fillScript    = scripts.Must(lua, "lua/fill.lua")
	countScript   = scripts.Must(lua, "lua/count.lua")
	lengthScript  = scripts.Must(lua, "lua/length.lua")
	combineScript = scripts.Must(lua, "lua/combine.lua")
)

var (
	getbit     = scripts.NewCommand("GETBIT", scripts.Reads)
	getrange   = scripts.NewCommand("GETRANGE", scripts.Reads)
	bitfieldRO = scripts.NewCommand("BITFIELD_RO", scripts.Reads)

	setbit   = scripts.NewCommand("SETBIT", scripts.Once)
	bitfield = scripts.NewCommand("BITFIELD", scripts.Once)
)
