package list

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	insertScript   = scripts.Must(lua, "lua/insert.lua")
	setScript      = scripts.Must(lua, "lua/set.lua")
	removeAtScript = scripts.Must(lua, "lua/remove_at.lua")
	rangeScript    = scripts.Must(lua, "lua/range.lua")
	getManyScript  = scripts.Must(lua, "lua/get_many.lua")
)

var (
	llen   = scripts.NewCommand("LLEN", scripts.Reads)
	lpos   = scripts.NewCommand("LPOS", scripts.Reads)
	lindex = scripts.NewCommand("LINDEX", scripts.Reads)

	rpush = scripts.NewCommand("RPUSH", scripts.Once)
	lpush = scripts.NewCommand("LPUSH", scripts.Once)
	lrem  = scripts.NewCommand("LREM", scripts.Once)
	ltrim = scripts.NewCommand("LTRIM", scripts.Once)
)

// What may be long, and nothing tells how long: each try has more time than the one before.
var (
	readOne   = send.Sized(lindex, send.Sizing{})
	readRange = send.Sized(rangeScript, send.Sizing{})
	readMany  = send.Sized(getManyScript, send.Sizing{})
)
