package maps

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/scan"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/rmap"
)

// shardsOf returns how many hashes a sharded map has, or is to have. Readers find nothing in one that is not there,
// whatever the number.
func (m *mapCall) shardsOf(ctx context.Context, name string) (int, error) {
	redis, err := m.Dial()
	if err != nil {
		return 0, exit.Failed(err)
	}
	defer redis.Close()
	seen, err := (&inspect.Look{Tool: m.Tool, Redis: redis, Name: name, Brief: true}).See(ctx)
	switch is := seen.Kind == inspect.KindSharded; {
	case err != nil:
		return 0, exit.Failed(fmt.Errorf("map %q: %w", name, err))
	case is && m.shards > 0 && m.shards != seen.Shards:
		return 0, exit.Usagef("--shards %d: the map %q has %d hashes, and keeps them", m.shards, name, seen.Shards)
	case is:
		return seen.Shards, nil
	case seen.Kind != inspect.KindNone: // with --force, too: nothing else has hashes to look for
		return 0, exit.Failed(fmt.Errorf("map %q: %w: it is no sharded map", name, rmap.ErrWrongKind))
	case m.makes && m.shards == 0:
		return 0, exit.Usagef("there is no sharded map %q: --shards N makes one", name)
	}
	return max(m.shards, 1), nil
}

// removeWhole removes a map. Flags that say its kind have to be right.
func (m *mapCall) removeWhole(ctx context.Context, name string) error {
	if m.cache && m.native || m.sharded && (m.cache || m.native) {
		return exit.Usagef("--cache, --native and --sharded exclude each other")
	}
	seen, err := inspect.FindObject(ctx, m.Tool, mapObjects, name)
	if err != nil {
		return err
	}
	given := map[string]bool{inspect.KindCache: m.cache, inspect.KindTTLMap: m.native, inspect.KindSharded: m.sharded}
	for kind, is := range given {
		asked := kind == seen.Kind || kind == inspect.KindTTLMap && seen.Kind == inspect.KindMap // no entry has a time to live
		if is && !asked && !m.force {
			return exit.Failed(fmt.Errorf("map %q: %w: it is a %s: leave the flag of its kind out", name, rmap.ErrWrongKind, seen.Kind))
		}
	}
	return m.WithClient(func(c *rueidisson.Client) error { return m.TellRemoved(ctx, mapHandle(c, name, seen)) })
}

// infoCommand shows the state of a map of any kind.
func (m *mapCall) infoCommand() *cobra.Command {
	cmd := inspect.InfoCommand(m.Tool, mapObjects)
	cmd.Long += `

Of near caches the server knows those that are announced: "announced caches" are the
subscriptions to the map's channel, "announced changes" those that writers have noted
for caches that were away. A near cache that the server itself tells of changes, which
is the default, leaves no trace under the name of the map.`
	return cmd
}

// listSharded shows the names of sharded maps.
func (m *mapCall) listSharded(ctx context.Context, s *scan.Scanner, pattern string) error {
	if m.cache || m.native {
		return exit.Usagef("--cache, --native and --sharded exclude each other")
	}
	return run.UnlessInterrupted(ctx, func(ctx context.Context) error {
		return s.WithRedis(func(*rueidisson.Client) error { return inspect.List(ctx, s, shardedObjects, cmp.Or(pattern, "*")) })
	})
}

// mapHandle returns what removes a map that a look has found.
func mapHandle(c *rueidisson.Client, name string, seen inspect.Seen) tool.Removable {
	switch seen.Kind {
	case inspect.KindSharded:
		return rmap.NewSharded[string, string](c, name, seen.Shards)
	case inspect.KindCache:
		return rmap.NewCache[string, string](c, name)
	}
	return rmap.New[string, string](c, name)
}

var (
	mapObjects = inspect.Objects{
		Noun: "map", Plural: "maps", Example: "prices",
		Kinds: []string{inspect.KindMap, inspect.KindTTLMap, inspect.KindCache, inspect.KindSharded}, Type: "hash",
	}
	shardedObjects = inspect.Objects{Noun: "map", Plural: "sharded maps", Example: "prices", Kinds: []string{inspect.KindSharded}, Type: "string"}
)
