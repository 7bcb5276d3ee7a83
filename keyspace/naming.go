package keyspace

import (
	"fmt"
	"strings"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// naming turns names into keys as the client's name mapper does, patterns in the same way, and keys back into names. That takes a mapper
// which puts a text before each name, or after it, or both.
type naming struct {
	mapName       func(string) string // nil: a name is its key
	before, after string
	bad           error // if the mapper does something else
}

// probes are names that tell what a mapper does.
var probes = [...]string{"rueidisson", "Probe:2"}

func namingOf(e *locking.Engine) naming {
	n := naming{mapName: e.MapName}
	if n.mapName == nil {
		return n
	}
	for i, probe := range probes {
		before, after, found := strings.Cut(n.mapName(probe), probe)
		if !found || i > 0 && (before != n.before || after != n.after) {
			n.bad = fmt.Errorf("%w: the client's name mapper does more than to put a text before or after each name, so that keys have no names", core.ErrInvalidArgument)
			return n
		}
		n.before, n.after = before, after
	}
	return n
}

// pattern returns the pattern of the keys whose names match one.
func (n *naming) pattern(names string) string { return literal(n.before) + names + literal(n.after) }

// quoted has what means something else in a pattern.
var quoted = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

func literal(text string) string { return quoted.Replace(text) }

// name returns the name of a key, if the client's objects can have that key.
func (n *naming) name(key string) (name string, is bool) {
	if n.mapName == nil {
		return key, true
	}
	name, is = strings.CutPrefix(key, n.before)
	if is {
		name, is = strings.CutSuffix(name, n.after)
	}
	return name, is && name != "" && n.mapName(name) == key
}

// own returns those of the keys that the client's objects can have.
func (n *naming) own(keys []string) []string {
	if n.mapName == nil {
		return keys
	}
	all := keys[:0]
	for _, key := range keys {
		if _, is := n.name(key); is {
			all = append(all, key)
		}
	}
	return all
}
