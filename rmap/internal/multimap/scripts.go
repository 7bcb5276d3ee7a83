package multimap

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

// The scripts of a multimap. Those that change something take how long their
// answer is to be remembered first, and the key that remembers it last.
var (
	Get     = scripts.Must(lua, "lua/get.lua")
	Page    = scripts.Must(lua, "lua/page.lua")
	Counts  = scripts.Must(lua, "lua/counts.lua")
	Has     = scripts.Must(lua, "lua/has.lua")
	HasAny  = scripts.Must(lua, "lua/has_any.lua")
	TTL     = scripts.Must(lua, "lua/ttl.lua")
	Range   = scripts.Must(lua, "lua/range.lua")
	Put     = scripts.Must(lua, "lua/put.lua")
	Replace = scripts.Must(lua, "lua/replace.lua")
	Remove  = scripts.Must(lua, "lua/remove.lua")
	Drop    = scripts.Must(lua, "lua/drop.lua")
	Expire  = scripts.Must(lua, "lua/expire.lua")
	// ExpireAll is about keys with the whole.
	ExpireAll = scripts.Must(lua, "lua/expire_all.lua")
	Finish    = scripts.Must(lua, "lua/finish.lua")
	Ended     = scripts.Must(lua, "lua/ended.lua")
)

// Commands are those of all scripts.
var Commands = check.Scripts(lua, "lua/*.lua")
