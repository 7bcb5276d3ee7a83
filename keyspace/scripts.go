package keyspace

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

var expireScript = scripts.Must(lua, "lua/expire.lua")

var (
	exists = scripts.NewCommand("EXISTS", scripts.Reads)
	typeOf = scripts.NewCommand("TYPE", scripts.Reads)
	touch  = scripts.NewCommand("TOUCH", scripts.Reads) // it changes no value
	unlink = scripts.NewCommand("UNLINK", scripts.Once)
)

var (
	keyCommands = check.Sent(exists, typeOf, touch, unlink)
	keyScripts  = check.Scripts(lua, "lua/*.lua")
	// walkCommands are sent to each master; see internal/keywalk.
	walkCommands = check.Named("scan", "dbsize")
)
