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
)

// What only reads is sent again when its reply is lost; what writes is not:
// another may have written in between.
var (
	zcard     = send.OnlyReads(scripts.NewCommand("ZCARD", scripts.Safe))
	zcount    = send.OnlyReads(scripts.NewCommand("ZCOUNT", scripts.Safe))
	zlexcount = send.OnlyReads(scripts.NewCommand("ZLEXCOUNT", scripts.Safe))
	zmscore   = send.OnlyReads(scripts.NewCommand("ZMSCORE", scripts.Safe))
	zrank     = send.OnlyReads(scripts.NewCommand("ZRANK", scripts.Safe))
	zrevrank  = send.OnlyReads(scripts.NewCommand("ZREVRANK", scripts.Safe))
	readPage  = send.Sized(pageScript, send.Sizing{})

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
