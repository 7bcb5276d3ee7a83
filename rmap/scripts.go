package rmap

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	commandScript     = scripts.Must(lua, "lua/command.lua")
	putScript         = scripts.Must(lua, "lua/put.lua")
	putToldScript     = scripts.Must(lua, "lua/put_told.lua")
	touchScript       = scripts.Must(lua, "lua/touch.lua")
	swapScript        = scripts.Must(lua, "lua/swap.lua")
	takeScript        = scripts.Must(lua, "lua/take.lua")
	putIfAbsentScript = scripts.Must(lua, "lua/put_if_absent.lua")
	replaceScript     = scripts.Must(lua, "lua/replace.lua")
	changeScript      = scripts.Must(lua, "lua/change.lua")
	addScript         = scripts.Must(lua, "lua/add.lua")
	renameScript      = scripts.Must(lua, "lua/rename.lua")
	deleteScript      = scripts.Must(lua, "lua/delete.lua")
	expireScript      = scripts.Must(lua, "lua/expire.lua")
	shardsScript      = scripts.Must(lua, "lua/shards.lua")
	removeScript      = scripts.Must(lua, "lua/remove.lua")
	dropScript        = scripts.Must(lua, "lua/drop.lua")
	lookScript        = scripts.Must(lua, "lua/look.lua")
	clearedScript     = scripts.Must(lua, "lua/cleared.lua")
	expiresScript     = scripts.Must(lua, "lua/expires.lua")
	ttlScript         = scripts.Must(lua, "lua/ttl.lua")
	serverScript      = scripts.Must(lua, "lua/server.lua")
)

// What only reads is sent again when its reply is lost; what writes is not:
// another may have written in between, and would be overwritten.
var (
	hget    = scripts.NewCommand("HGET", scripts.Safe)
	hmget   = scripts.NewCommand("HMGET", scripts.Safe)
	zscore  = scripts.NewCommand("ZSCORE", scripts.Safe)
	zmscore = scripts.NewCommand("ZMSCORE", scripts.Safe)
	hexists = scripts.NewCommand("HEXISTS", scripts.Safe)
	hlen    = scripts.NewCommand("HLEN", scripts.Safe)
	hscan   = scripts.NewCommand("HSCAN", scripts.Safe)
	get     = scripts.NewCommand("GET", scripts.Safe)
	exists  = scripts.NewCommand("EXISTS", scripts.Safe)
	pttl    = scripts.NewCommand("PTTL", scripts.Safe)

	hset         = scripts.NewCommand("HSET", scripts.Unsafe)
	hdel         = scripts.NewCommand("HDEL", scripts.Unsafe)
	hincrby      = scripts.NewCommand("HINCRBY", scripts.Unsafe)
	hincrbyfloat = scripts.NewCommand("HINCRBYFLOAT", scripts.Unsafe)
	publish      = scripts.NewCommand("PUBLISH", scripts.Safe) // of what may be heard twice
	unlink       = scripts.NewCommand("UNLINK", scripts.Unsafe)
)

// memory is how long the server remembers the answer to a request, ms.
var memory = strconv.FormatInt(engine.Millis(engine.RequestMemory), 10)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
