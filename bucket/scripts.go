package bucket

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	swapScript     = scripts.Must(lua, "lua/compare_and_swap.lua")
	deleteScript   = scripts.Must(lua, "lua/compare_and_delete.lua")
	changeScript   = scripts.Must(lua, "lua/change.lua")
	getManyScript  = scripts.Must(lua, "lua/get_many.lua")
	setManyScript  = scripts.Must(lua, "lua/set_many.lua")
	truncateScript = scripts.Must(lua, "lua/truncate.lua")
)

// Of documents.
var (
	documentSet    = scripts.Must(lua, "lua/json_set.lua")
	documentSwap   = scripts.Must(lua, "lua/json_swap.lua")
	documentTake   = scripts.Must(lua, "lua/json_take.lua")
	documentChange = scripts.Must(lua, "lua/json_change.lua")
	partAdd        = scripts.Must(lua, "lua/json_add.lua")
	partPop        = scripts.Must(lua, "lua/json_pop.lua")
	partInsert     = scripts.Must(lua, "lua/json_insert.lua")
	partLen        = scripts.Must(lua, "lua/json_len.lua")
	partBytes      = scripts.Must(lua, "lua/json_bytes.lua")
)

// What only reads is sent again when its reply is lost; what writes is not:
// another may have written in between, and would be overwritten.
var (
	get      = scripts.NewCommand("GET", scripts.Reads)
	strlen   = scripts.NewCommand("STRLEN", scripts.Reads)
	getrange = scripts.NewCommand("GETRANGE", scripts.Reads)

	set      = scripts.NewCommand("SET", scripts.Once)
	swap     = scripts.NewCommand("SET", scripts.Unsafe) // with GET
	getdel   = scripts.NewCommand("GETDEL", scripts.Unsafe)
	getex    = scripts.NewCommand("GETEX", scripts.Once)
	mset     = scripts.NewCommand("MSET", scripts.Once)
	msetnx   = scripts.NewCommand("MSETNX", scripts.Once)
	setrange = scripts.NewCommand("SETRANGE", scripts.Once)
	appends  = scripts.NewCommand("APPEND", scripts.Once)
)

// The commands of RedisJSON.
var (
	jsonGet      = scripts.NewCommand("JSON.GET", scripts.Reads)
	jsonType     = scripts.NewCommand("JSON.TYPE", scripts.Reads)
	jsonObjKeys  = scripts.NewCommand("JSON.OBJKEYS", scripts.Reads)
	jsonArrIndex = scripts.NewCommand("JSON.ARRINDEX", scripts.Reads)

	jsonSet       = scripts.NewCommand("JSON.SET", scripts.Once)
	jsonDel       = scripts.NewCommand("JSON.DEL", scripts.Once)
	jsonClear     = scripts.NewCommand("JSON.CLEAR", scripts.Once)
	jsonMerge     = scripts.NewCommand("JSON.MERGE", scripts.Once)
	jsonToggle    = scripts.NewCommand("JSON.TOGGLE", scripts.Once)
	jsonStrAppend = scripts.NewCommand("JSON.STRAPPEND", scripts.Once)
	jsonArrAppend = scripts.NewCommand("JSON.ARRAPPEND", scripts.Once)
	jsonArrTrim   = scripts.NewCommand("JSON.ARRTRIM", scripts.Once)
)

// What may be long: where it does not come in time it is asked how long it is. The answer to several buckets is long if
// the first is.
var (
	readDocument = send.Sized(jsonGet, send.Sizing{By: partBytes})
	readKeys     = send.Sized(jsonObjKeys, send.Sizing{})
	readTypes    = send.Sized(jsonType, send.Sizing{})
	readIndexes  = send.Sized(jsonArrIndex, send.Sizing{})

	readOne  = send.Sized(get, send.Sizing{By: strlen})
	readMany = send.Sized(getManyScript, send.Sizing{By: strlen, Of: func(keys, _ []string) (k, a []string) { return keys[:1], nil }})
)
