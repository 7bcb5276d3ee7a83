package check

import "strings"

// form is how a command is asked for.
type form struct {
	command string
	words   []any  // false stands for the key; the script adds more where the server wants them
	is      string // the type of key that it is for; "" for any
	keyless bool
	channel bool
}

var key any = false

// optional are commands that objects do without: a server that denies them has objects go on, with less knowledge. A
// server that knows no cluster has none of them.
var optional = map[string]bool{
	"cluster info": true, "cluster myid": true, "pubsub shardnumsub": true, "pubsub numsub": true, "info": true,
	"script load": true,
}

// newer are commands that not every promised server has: objects that need them return errors.ErrUnsupported by themselves, or
// do without, as Bloom filters on an embedded server.
var newer = map[string]bool{"bitfield": true, "bitfield_ro": true, "hpersist": true, "hpexpire": true, "hpexpireat": true, "hpexpiretime": true, "hpttl": true}

// ofModule begins the names of commands that a module adds. Its objects say by themselves that a server does not have it.
const ofModule = "json."

var containers = map[string]bool{
	"xgroup": true, "xinfo": true, "pubsub": true, "cluster": true, "client": true, "script": true, "memory": true,
}

// forms has the commands whose keys are not their first word, or which want more of their words.
var forms = map[string][]any{
	"eval": {"return 1", "1", key}, "evalsha": {"0", "1", key},
	"blpop": {key, "0"}, "brpop": {key, "0"}, "bzpopmin": {key, "0"}, "bzpopmax": {key, "0"},
	"lmpop": {"1", key, "LEFT"}, "blmpop": {"0", "1", key, "LEFT"}, "zmpop": {"1", key, "MIN"}, "bzmpop": {"0", "1", key, "MIN"},
	"lmove": {key, key, "LEFT", "RIGHT"}, "blmove": {key, key, "LEFT", "RIGHT", "0"},
	"rename": {key, key}, "renamenx": {key, key}, "copy": {key, key}, "smove": {key, key, "0"},
	"sunionstore": {key, key}, "sinterstore": {key, key}, "sdiffstore": {key, key},
	"zunionstore": {key, "1", key}, "zinterstore": {key, "1", key}, "zdiffstore": {key, "1", key}, "zrangestore": {key, key, "0", "0"},
	"geopos":         {key, "m"},
	"geosearch":      {key, "FROMLONLAT", "0", "0", "BYRADIUS", "0", "m"},
	"geosearchstore": {key, key, "FROMLONLAT", "0", "0", "BYRADIUS", "0", "m"},
	"set":            {key, "0"},
	"bitop":          {"NOT", key, key},
	"xread":          {"STREAMS", key, "0"}, "xreadgroup": {"GROUP", "0", "0", "STREAMS", key, "0"},
	"memory usage": {key},
}

// keyless are the commands without a key, with what they take.
var keyless = map[string][]any{
	"time": {}, "multi": {}, "exec": {}, "wait": {"0", "0"}, "scan": {"0"}, "dbsize": {}, "info": {}, "client info": {}, "client tracking": {"on"}, "client caching": {"yes"}, "client id": {}, "client unblock": {"0"},
	"pubsub channels": {}, "pubsub numpat": {}, "pubsub numsub": {"0"}, "pubsub shardnumsub": {"0"}, "pubsub shardchannels": {}, "script load": {"0"},
}

// kinds has the types of keys by the first letters of commands, and others by their names.
func kindOf(name string) string {
	if strings.HasPrefix(name, ofModule) {
		return JSON
	}
	switch name {
	case "sadd", "scard", "sismember", "smembers", "srem", "sscan", "smove", "spop", "srandmember", "smismember":
		return Set
	case "get", "set", "mget", "strlen", "getrange", "setrange", "append", "incrby", "decrby", "incr", "decr", "setex", "psetex", "setnx", "getdel", "getex", "incrbyfloat",
		"getbit", "setbit", "bitfield", "bitfield_ro", "bitcount", "bitop":
		return String
	case "lindex", "linsert", "llen", "lpop", "lpos", "lpush", "lpushx", "lrange", "lrem", "lset", "ltrim", "rpop", "rpush", "rpushx",
		"lmove", "blmove", "lmpop", "blmpop", "blpop", "brpop":
		return List
	case "bzpopmin", "bzpopmax", "bzmpop", "geosearch", "geosearchstore":
		return ZSet
	}
	switch name[0] {
	case 'h':
		return Hash
	case 'z':
		return ZSet
	case 'x':
		return Stream
	}
	return ""
}

// formOf returns how a command is asked for, such as "get" or "xgroup create".
func formOf(name string) form {
	command, sub, _ := strings.Cut(name, " ")
	f := form{command: command, words: []any{}, is: kindOf(command)}
	if sub != "" {
		f.words = append(f.words, sub)
	}
	switch strings.TrimLeft(command, "ps") {
	case "ubscribe", "ublish", "unsubscribe":
		f.channel = true
	}
	with, none := keyless[name]
	if f.keyless = none; none {
		f.words = append(f.words, with...)
		return f
	}
	if with, is := forms[name]; is {
		f.words = append(f.words, with...)
	} else {
		f.words = append(f.words, key)
	}
	return f
}
