package multimap

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

// The scripts that change something take how long their answer is to be remembered first, and the key that remembers it
// last.
var (
	getScript         = scripts.Must(lua, "lua/get.lua")
	pageScript        = scripts.Must(lua, "lua/page.lua")
	countsScript      = scripts.Must(lua, "lua/counts.lua")
	hasScript         = scripts.Must(lua, "lua/has.lua")
	hasAnyScript      = scripts.Must(lua, "lua/has_any.lua")
	ttlScript         = scripts.Must(lua, "lua/ttl.lua")
	rangeScript       = scripts.Must(lua, "lua/range.lua")
	putScript         = scripts.Must(lua, "lua/put.lua")
	replaceScript     = scripts.Must(lua, "lua/replace.lua")
	removeScript      = scripts.Must(lua, "lua/remove.lua")
	dropScript        = scripts.Must(lua, "lua/drop.lua")
	expireScript      = scripts.Must(lua, "lua/expire.lua")
	expireAllScript   = scripts.Must(lua, "lua/expire_all.lua") // some keys and the index
	expireWholeScript = scripts.Must(lua, "lua/expire_whole.lua")
	finishScript      = scripts.Must(lua, "lua/finish.lua")
	endedScript       = scripts.Must(lua, "lua/ended.lua")
)

var (
	exists = scripts.NewCommand("EXISTS", scripts.Reads)
	hlen   = scripts.NewCommand("HLEN", scripts.Reads)
	pttl   = scripts.NewCommand("PTTL", scripts.Reads)
)

// Answers that may be long.
var (
	readPage   = send.Sized(pageScript, send.Sizing{})
	readValues = send.Sized(getScript, send.Sizing{})
	readRange  = send.Sized(rangeScript, send.Sizing{})
)
