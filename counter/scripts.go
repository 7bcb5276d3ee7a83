package counter

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	addTTLScript        = scripts.Must(lua, "lua/add_ttl.lua")
	slotAddScript       = scripts.Must(lua, "lua/slot_add.lua")
	swapScript          = scripts.Must(lua, "lua/swap.lua")
	takeScript          = scripts.Must(lua, "lua/take.lua")
	compareSwapScript   = scripts.Must(lua, "lua/compare_swap.lua")
	compareDeleteScript = scripts.Must(lua, "lua/compare_delete.lua")
	boundScript         = scripts.Must(lua, "lua/bound.lua")

	floatSwapScript    = scripts.Must(lua, "lua/float_swap.lua")
	floatCompareScript = scripts.Must(lua, "lua/float_compare.lua")

	idsInitScript  = scripts.Must(lua, "lua/ids_init.lua")
	idsBlockScript = scripts.Must(lua, "lua/ids_block.lua")

	idsBlock = taking{idsBlockScript}
)

// What only reads is sent again when its reply is lost, and so is what only grows.
var (
	get         = scripts.NewCommand("GET", scripts.Reads)
	strlen      = scripts.NewCommand("STRLEN", scripts.Reads)
	set         = scripts.NewCommand("SET", scripts.Once)
	incrby      = scripts.NewCommand("INCRBY", scripts.Once)
	incrbyfloat = scripts.NewCommand("INCRBYFLOAT", scripts.Once)

	pfadd   = scripts.NewCommand("PFADD", scripts.Safe)
	pfcount = scripts.NewCommand("PFCOUNT", scripts.Reads)
	pfmerge = scripts.NewCommand("PFMERGE", scripts.Safe)
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// taking takes ids. For its callers it only reads: what a lost answer has brought is a gap.
type taking struct{ *scripts.Script }

// OnlyReads says that nobody need know whether it ran.
func (taking) OnlyReads() bool { return true }
