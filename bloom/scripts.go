package bloom

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	initScript = scripts.Must(lua, "lua/init.lua")
	addScript  = scripts.Must(lua, "lua/add.lua")
	lookScript = scripts.Must(lua, "lua/look.lua")
)

// What only reads is sent again when its reply is lost.
var (
	hmget      = scripts.NewCommand("HMGET", scripts.Reads)
	bitfieldRO = scripts.NewCommand("BITFIELD_RO", scripts.Reads)
	bitcount   = scripts.NewCommand("BITCOUNT", scripts.Reads)
)

// The fields of a config, as Redisson has them.
var (
	shapeFields  = []string{"size", "hashIterations"}
	configFields = []string{"size", "hashIterations", "expectedInsertions", "falseProbability"}
)
