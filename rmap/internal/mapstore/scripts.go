package mapstore

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

//go:embed lua/*.lua
var Lua embed.FS

var (
	CommandScript     = scripts.Must(Lua, "lua/command.lua")
	PutScript         = scripts.Must(Lua, "lua/put.lua")
	PutToldScript     = scripts.Must(Lua, "lua/put_told.lua")
	TouchScript       = scripts.Must(Lua, "lua/touch.lua")
	SwapScript        = scripts.Must(Lua, "lua/swap.lua")
	TakeScript        = scripts.Must(Lua, "lua/take.lua")
	PutIfAbsentScript = scripts.Must(Lua, "lua/put_if_absent.lua")
	ReplaceScript     = scripts.Must(Lua, "lua/replace.lua")
	ChangeScript      = scripts.Must(Lua, "lua/change.lua")
	AddScript         = scripts.Must(Lua, "lua/add.lua")
	RenameScript      = scripts.Must(Lua, "lua/rename.lua")
	CopyScript        = scripts.Must(Lua, "lua/copy.lua")
	DeleteScript      = scripts.Must(Lua, "lua/delete.lua")
	ExpireScript      = scripts.Must(Lua, "lua/expire.lua")
	ShardsScript      = scripts.Must(Lua, "lua/shards.lua")
	RemoveScript      = scripts.Must(Lua, "lua/remove.lua")
	DropScript        = scripts.Must(Lua, "lua/drop.lua")
	LookScript        = scripts.Must(Lua, "lua/look.lua")
	ClearedScript     = scripts.Must(Lua, "lua/cleared.lua")
	TTLScript         = scripts.Must(Lua, "lua/ttl.lua")
)

// What only reads is sent again when its reply is lost; what writes is not:
// another may have written in between, and would be overwritten.
var (
	hget    = scripts.NewCommand("HGET", scripts.Reads)
	hmget   = scripts.NewCommand("HMGET", scripts.Reads)
	zmscore = scripts.NewCommand("ZMSCORE", scripts.Reads)
	hexists = scripts.NewCommand("HEXISTS", scripts.Reads)
	hlen    = scripts.NewCommand("HLEN", scripts.Reads)
	get     = scripts.NewCommand("GET", scripts.Reads)
	Exists  = scripts.NewCommand("EXISTS", scripts.Reads)
	PTTL    = scripts.NewCommand("PTTL", scripts.Reads)

	hset         = scripts.NewCommand("HSET", scripts.Once)
	hdel         = scripts.NewCommand("HDEL", scripts.Once)
	hincrby      = scripts.NewCommand("HINCRBY", scripts.Once)
	hincrbyfloat = scripts.NewCommand("HINCRBYFLOAT", scripts.Once)
	Publish      = scripts.NewCommand("PUBLISH", scripts.Safe) // of what may be heard twice
	unlink       = scripts.NewCommand("UNLINK", scripts.Unsafe)
)

// What may be long: where it does not come in time it is asked how long it is, or whether
// the server is there at all.
var (
	hstrlen = scripts.NewCommand("HSTRLEN", scripts.Reads)

	lengthOfOne  = &send.Sizing{By: hstrlen}
	lengthOfMany = &send.Sizing{By: send.HashLengths}

	readOne    = send.Sized(hget, *lengthOfOne)
	readMany   = send.Sized(hmget, *lengthOfMany)
	readCached = send.Sized(mapcache.Get, send.Sizing{By: send.HashLengths, Of: func(keys, args []string) (k, a []string) {
		return keys[:1], args[2:]
	}})
	readPeek         = send.Sized(PeekScript, send.Sizing{By: send.HashLengths, Of: peekedFields(1)})
	readPeekCached   = send.Sized(mapcache.Peek, send.Sizing{By: send.HashLengths, Of: peekedFields(2)})
	readToLoad       = send.Sized(LoadLookScript, send.Sizing{Writes: true})
	readToLoadCached = send.Sized(mapcache.LoadLook, send.Sizing{Writes: true})

	pageCached = send.Sized(mapcache.Scan, send.Sizing{})
)

// peekedFields returns what tells how long the answer to a peek is, whose fields begin with that
// argument. A look at times alone has no values.
func peekedFields(first int) func(keys, args []string) (k, a []string) {
	return func(keys, args []string) (k, a []string) {
		if args[0] == Flag(false) {
			return keys[:1], nil
		}
		return keys[:1], args[first:]
	}
}

// answersValue is the scripts that write an entry and return one.
var answersValue = map[*scripts.Script]bool{
	SwapScript: true, TakeScript: true, PutIfAbsentScript: true, ChangeScript: true,
	mapcache.Swap: true, mapcache.Take: true, mapcache.PutIfAbsent: true, mapcache.Change: true,
}

// Decimal returns a number for scripts.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }
