package sortedset

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	pageScript     = scripts.Must(lua, "lua/page.lua")
	popScript      = scripts.Must(lua, "lua/pop.lua")
	removeScript   = scripts.Must(lua, "lua/remove_range.lua")
	addScoreScript = scripts.Must(lua, "lua/add_score.lua")
	nearScript     = scripts.Must(lua, "lua/near.lua")
	nearIntoScript = scripts.Must(lua, "lua/near_into.lua")
)

// What only reads is sent again when its reply is lost; what writes is not:
// another may have written in between.
var (
	zcard     = scripts.NewCommand("ZCARD", scripts.Reads)
	zcount    = scripts.NewCommand("ZCOUNT", scripts.Reads)
	zlexcount = scripts.NewCommand("ZLEXCOUNT", scripts.Reads)
	zmscore   = scripts.NewCommand("ZMSCORE", scripts.Reads)
	zrank     = scripts.NewCommand("ZRANK", scripts.Reads)
	zrevrank  = scripts.NewCommand("ZREVRANK", scripts.Reads)
	readPage  = send.Sized(pageScript, send.Sizing{})
	readNear  = send.Sized(nearScript, send.Sizing{})

	zadd        = scripts.NewCommand("ZADD", scripts.Once)
	zincrby     = scripts.NewCommand("ZINCRBY", scripts.Once)
	zrem        = scripts.NewCommand("ZREM", scripts.Once)
	zpopmin     = scripts.NewCommand("ZPOPMIN", scripts.Unsafe)
	zpopmax     = scripts.NewCommand("ZPOPMAX", scripts.Unsafe)
	zunionstore = scripts.NewCommand("ZUNIONSTORE", scripts.Once)
	zinterstore = scripts.NewCommand("ZINTERSTORE", scripts.Once)
	zdiffstore  = scripts.NewCommand("ZDIFFSTORE", scripts.Once)
	zrangestore = scripts.NewCommand("ZRANGESTORE", scripts.Once)
)
