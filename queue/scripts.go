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

var backScript = scripts.Must(lua, "lua/back.lua")

// memory is how long the server remembers a request, ms.
var memory = strconv.FormatInt(core.Millis(send.RequestMemory), 10)

// What only reads is sent again when its reply is lost. What offers or takes is not: a second run would do it again.
var (
	lindex = send.Sized(scripts.NewCommand("LINDEX", scripts.Reads), send.Sizing{})
	lrange = send.Sized(scripts.NewCommand("LRANGE", scripts.Reads), send.Sizing{})
	llen   = scripts.NewCommand("LLEN", scripts.Reads)
	zcard  = scripts.NewCommand("ZCARD", scripts.Reads)
	zrange = send.Sized(scripts.NewCommand("ZRANGE", scripts.Reads), send.Sizing{})
	zscore = scripts.NewCommand("ZSCORE", scripts.Reads)

	rpush   = scripts.NewCommand("RPUSH", scripts.Once)
	lpush   = scripts.NewCommand("LPUSH", scripts.Once)
	rpushx  = scripts.NewCommand("RPUSHX", scripts.Once)
	lpop    = scripts.NewCommand("LPOP", scripts.Unsafe)
	rpop    = scripts.NewCommand("RPOP", scripts.Unsafe)
	lmove   = scripts.NewCommand("LMOVE", scripts.Unsafe)
	lrem    = scripts.NewCommand("LREM", scripts.Unsafe)
	zadd    = scripts.NewCommand("ZADD", scripts.Once)
	zrem    = scripts.NewCommand("ZREM", scripts.Once)
	zpopmin = scripts.NewCommand("ZPOPMIN", scripts.Unsafe)
	zpopmax = scripts.NewCommand("ZPOPMAX", scripts.Unsafe)
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
