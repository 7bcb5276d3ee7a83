package set

import (
	"embed"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	scanSetScript     = scripts.Must(lua, "lua/scan_set.lua")
	scanCacheScript   = scripts.Must(lua, "lua/scan_cache.lua")
	addAllScript      = scripts.Must(lua, "lua/add_all.lua")
	cacheAddAllScript = scripts.Must(lua, "lua/cache_add_all.lua")
	cacheAddIfScript  = scripts.Must(lua, "lua/cache_add_if.lua")
	cacheRandomScript = scripts.Must(lua, "lua/cache_random.lua")
	sweepScript       = scripts.Must(lua, "lua/sweep.lua")
)

// What only reads is sent again when its reply is lost; what writes is not:
// another may have written in between.
var (
	smismember  = scripts.NewCommand("SMISMEMBER", scripts.Reads)
	srandmember = scripts.NewCommand("SRANDMEMBER", scripts.Reads)
	scard       = scripts.NewCommand("SCARD", scripts.Reads)
	zmscore     = scripts.NewCommand("ZMSCORE", scripts.Reads)
	zcount      = scripts.NewCommand("ZCOUNT", scripts.Reads)

	sadd        = scripts.NewCommand("SADD", scripts.Once)
	srem        = scripts.NewCommand("SREM", scripts.Once)
	smove       = scripts.NewCommand("SMOVE", scripts.Once)
	spop        = scripts.NewCommand("SPOP", scripts.Unsafe)
	sunionstore = scripts.NewCommand("SUNIONSTORE", scripts.Once)
	sinterstore = scripts.NewCommand("SINTERSTORE", scripts.Once)
	sdiffstore  = scripts.NewCommand("SDIFFSTORE", scripts.Once)
	zadd        = scripts.NewCommand("ZADD", scripts.Once)
	zrem        = scripts.NewCommand("ZREM", scripts.Once)
)

// Reads, whose outcome is never unknown. The answers of some may be long.
var (
	readRandom      = send.Sized(srandmember, send.Sizing{})
	readCacheRandom = send.Sized(cacheRandomScript, send.Sizing{})
	readSet         = send.Sized(scanSetScript, send.Sizing{})
	readCache       = send.Sized(scanCacheScript, send.Sizing{})
)
