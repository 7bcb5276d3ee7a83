package mapstore

import (
	"slices"
	"strings"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/send"
)

// The commands of the operations on a map.
var (
	FieldCommands = together(check.Scripts(Lua, "lua/*.lua", "!lua/behind*.lua", "!lua/load_*.lua", "!lua/cleared.lua", "!lua/shards.lua"), scanCommands, check.Script(fieldttl.Script))
	PlainCommands = withoutTimes(FieldCommands)
	ShardCommands = withoutTimes(check.Scripts(Lua, "lua/shards.lua"))
	scanCommands  = check.Script(hashscan.Script, hashscan.ServerScript)
	WholeCommands = together(check.Scripts(Lua, "lua/copy.lua", "lua/rename.lua", "lua/delete.lua"), check.Script(hashscan.ServerScript))
	SizeCommands  = check.Script(send.SizeScript)

	LoadCommands    = withoutTimes(check.Scripts(Lua, "lua/load_*.lua"))
	ThroughCommands = withoutTimes(check.Scripts(Lua, "lua/through.lua"))
	DrainCommands   = withoutTimes(check.Scripts(Lua, "lua/behind*.lua"))

	LeaseCommands = check.Sent(unlease)
	ReadCommands  = check.Sent(hget, hmget, hexists, hlen, hashscan.Command, Exists, PTTL, hset, hdel, unlink, hstrlen, hrandfield, zmscore, get)
	AddCommands   = check.Sent(hincrby, hincrbyfloat)
)

// together returns the commands of all.
func together(all ...check.Commands) check.Commands {
	return func() (names []string) {
		for _, of := range all {
			names = append(names, of()...)
		}
		return names
	}
}

// withoutTimes leaves out the commands of fields with times to live, which only a rmap.TTLMap needs.
func withoutTimes(of check.Commands) check.Commands {
	return func() []string {
		return slices.DeleteFunc(slices.Clone(of()), func(name string) bool { return strings.HasPrefix(name, "hp") })
	}
}
