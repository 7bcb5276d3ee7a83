package mapcache

import (
	"embed"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

//go:embed lua/*.lua
var lua embed.FS

// The scripts of a cache. Those that change something take how long their answer
// is to be remembered first, and the key that remembers it last.
var (
	Get              = scripts.Must(lua, "lua/get.lua")
	Has              = scripts.Must(lua, "lua/has.lua")
	TTL              = scripts.Must(lua, "lua/ttl.lua")
	Peek             = scripts.Must(lua, "lua/peek.lua")
	Scan             = scripts.Must(lua, "lua/scan.lua")
	Put              = scripts.Must(lua, "lua/put.lua")         // of those that change something the one which remembers no answer
	PutBounded       = scripts.Must(lua, "lua/put_bounded.lua") // nor does this one
	PutMany          = scripts.Must(lua, "lua/put_many.lua")
	Swap             = scripts.Must(lua, "lua/swap.lua")
	PutIfAbsent      = scripts.Must(lua, "lua/put_if_absent.lua")
	Replace          = scripts.Must(lua, "lua/replace.lua")
	Change           = scripts.Must(lua, "lua/change.lua")
	Add              = scripts.Must(lua, "lua/add.lua")
	Take             = scripts.Must(lua, "lua/take.lua")
	Remove           = scripts.Must(lua, "lua/remove.lua")
	Touch            = scripts.Must(lua, "lua/touch.lua")
	ExpireEntries    = scripts.Must(lua, "lua/expire_entries.lua")
	Clear            = scripts.Must(lua, "lua/clear.lua")
	Expire           = scripts.Must(lua, "lua/expire.lua")
	Persist          = scripts.Must(lua, "lua/persist.lua")
	SetBound         = scripts.Must(lua, "lua/bound_set.lua")
	SetBoundIfAbsent = scripts.Must(lua, "lua/bound_absent.lua")
	SetBytes         = scripts.Must(lua, "lua/bound_bytes.lua")
	Through          = scripts.Must(lua, "lua/through.lua")
	Behind           = scripts.Must(lua, "lua/behind.lua")
	LoadLook         = scripts.Must(lua, "lua/load_look.lua") // these two remember no answer either
	LoadPut          = scripts.Must(lua, "lua/load_put.lua")

	sweepScript = scripts.Must(lua, "lua/sweep.lua")
	seedScript  = scripts.Must(lua, "lua/seed.lua")
	evictScript = scripts.Must(lua, "lua/evict.lua")
)

// Names are the keys of a cache.
type Names struct {
	Hash, Times, Rests, Accesses, Options string

	// Announced is that near caches are told of what goes.
	Announced bool

	lease, latch string
}

// NamesOf returns the keys of the cache of that name, as it is mapped.
func NamesOf(name string) Names {
	return Names{
		Hash: name, Times: keys.MapTimes(name), Rests: keys.MapRests(name), Accesses: keys.MapAccesses(name),
		Options: keys.MapOptions(name), lease: keys.MapLease(name), latch: keys.SweepLatch(name),
	}
}

// All returns the keys that a cache is made of, the hash first.
func (n *Names) All() []string {
	return []string{n.Hash, n.Times, n.Rests, n.Accesses, n.Options}
}

// Publish returns the third argument of the scripts of a cache, with what near caches are told of
// the entries that the call is about; see tell.lua.
func (n *Names) Publish(command, changes string) string {
	if !n.Announced {
		return command
	}
	channel := keys.NearChannel(n.Hash)
	return command + " " + strconv.Itoa(len(channel)) + " " + channel + changes
}

// Lease returns the key of who loads the entry of that key.
func (n *Names) Lease(key string) string { return n.lease + key }

// Commands are those of all scripts.
var Commands = check.Scripts(lua, "lua/*.lua")
