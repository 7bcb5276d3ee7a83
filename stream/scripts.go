package stream

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	ackScript            = scripts.Must(lua, "lua/stream_ack.lua")
	redriveScript        = scripts.Must(lua, "lua/stream_redrive.lua")
	removeConsumerScript = scripts.Must(lua, "lua/stream_remove_consumer.lua")
	returnScript         = scripts.Must(lua, "lua/stream_return.lua")
)

// What only reads is sent again when its reply is lost.
var (
	xadd    = scripts.NewCommand("XADD", scripts.Once)
	xdel    = scripts.NewCommand("XDEL", scripts.Once)
	xtrim   = scripts.NewCommand("XTRIM", scripts.Unsafe)
	xinfo   = scripts.NewCommand("XINFO STREAM", scripts.Reads)
	xsetid  = scripts.NewCommand("XSETID", scripts.Safe)
	xgroups = scripts.NewCommand("XINFO GROUPS", scripts.Reads)

	xrange    = send.Sized(scripts.NewCommand("XRANGE", scripts.Reads), send.Sizing{})
	xrevrange = send.Sized(scripts.NewCommand("XREVRANGE", scripts.Reads), send.Sizing{})

	xcreate    = scripts.NewCommand("XGROUP CREATE", scripts.Unsafe)
	xdestroy   = scripts.NewCommand("XGROUP DESTROY", scripts.Unsafe)
	xgroupSet  = scripts.NewCommand("XGROUP SETID", scripts.Safe)
	xconsumers = scripts.NewCommand("XINFO CONSUMERS", scripts.Reads)

	xreadgroup = send.ReadGroup
	xack       = scripts.NewCommand("XACK", scripts.Once)
	xclaimed   = scripts.NewCommand("XCLAIM", scripts.Unsafe)
	xautoclaim = send.Sized(scripts.NewCommand("XAUTOCLAIM", scripts.Safe), send.Sizing{Writes: true})
	xpending   = scripts.NewCommand("XPENDING", scripts.Reads)
	// askOnce is xpending for a consumer that is leaving, which waits for one send only.
	askOnce = scripts.NewCommand("XPENDING", scripts.Unsafe)
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
