package rmap

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
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
	copyScript        = scripts.Must(lua, "lua/copy.lua")
	deleteScript      = scripts.Must(lua, "lua/delete.lua")
	expireScript      = scripts.Must(lua, "lua/expire.lua")
	shardsScript      = scripts.Must(lua, "lua/shards.lua")
	removeScript      = scripts.Must(lua, "lua/remove.lua")
	dropScript        = scripts.Must(lua, "lua/drop.lua")
	lookScript        = scripts.Must(lua, "lua/look.lua")
	clearedScript     = scripts.Must(lua, "lua/cleared.lua")
	ttlScript         = scripts.Must(lua, "lua/ttl.lua")
)

// What only reads is sent again when its reply is lost; what writes is not:
// another may have written in between, and would be overwritten.
var (
	hget    = scripts.NewCommand("HGET", scripts.Safe)
	hmget   = scripts.NewCommand("HMGET", scripts.Safe)
	zmscore = scripts.NewCommand("ZMSCORE", scripts.Safe)
	hexists = scripts.NewCommand("HEXISTS", scripts.Safe)
	hlen    = scripts.NewCommand("HLEN", scripts.Safe)
	get     = scripts.NewCommand("GET", scripts.Safe)
	exists  = scripts.NewCommand("EXISTS", scripts.Safe)
	pttl    = scripts.NewCommand("PTTL", scripts.Safe)

	hset         = scripts.NewCommand("HSET", scripts.Once)
	hdel         = scripts.NewCommand("HDEL", scripts.Once)
	hincrby      = scripts.NewCommand("HINCRBY", scripts.Once)
	hincrbyfloat = scripts.NewCommand("HINCRBYFLOAT", scripts.Once)
	publish      = scripts.NewCommand("PUBLISH", scripts.Safe) // of what may be heard twice
	unlink       = scripts.NewCommand("UNLINK", scripts.Unsafe)
)

// What may be long: where it does not come in time it is asked how long it is, or whether
// the server is there at all.
var (
	hstrlen = scripts.NewCommand("HSTRLEN", scripts.Safe)

	lengthOfOne  = &send.Sizing{By: hstrlen}
	lengthOfMany = &send.Sizing{By: send.HashLengths}

	readOne    = send.Sized(hget, *lengthOfOne)
	readMany   = send.Sized(hmget, *lengthOfMany)
	readCached = send.Sized(mapcache.Get, send.Sizing{By: send.HashLengths, Of: func(keys, args []string) (k, a []string) {
		return keys[:1], args[2:]
	}})
	readPeek         = send.Sized(peekScript, send.Sizing{By: send.HashLengths, Of: peekedFields(1)})
	readPeekCached   = send.Sized(mapcache.Peek, send.Sizing{By: send.HashLengths, Of: peekedFields(2)})
	readToLoad       = send.Sized(loadLookScript, send.Sizing{Writes: true})
	readToLoadCached = send.Sized(mapcache.LoadLook, send.Sizing{Writes: true})

	pageCached = send.Sized(mapcache.Scan, send.Sizing{})
)

// peekedFields returns what tells how long the answer to a peek is, whose fields begin with that
// argument. A look at times alone has no values.
func peekedFields(first int) func(keys, args []string) (k, a []string) {
	return func(keys, args []string) (k, a []string) {
		if args[0] == flag(false) {
			return keys[:1], nil
		}
		return keys[:1], args[first:]
	}
}

// answersValue is the scripts that write an entry and return one.
var answersValue = map[*scripts.Script]bool{
	swapScript: true, takeScript: true, putIfAbsentScript: true, changeScript: true,
	mapcache.Swap: true, mapcache.Take: true, mapcache.PutIfAbsent: true, mapcache.Change: true,
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
