package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
)

// shardsOf returns how many hashes a sharded map has, or is to have. Readers find nothing in one that is not there,
// whatever the number.
func (m *mapCall) shardsOf(ctx context.Context, name string) (int, error) {
	redis, err := m.dial()
	if err != nil {
		return 0, failed(err)
	}
	defer redis.Close()
	seen, err := (&look{tool: m.tool, redis: redis, name: name, brief: true}).see(ctx)
	switch is := seen.kind == kindSharded; {
	case err != nil:
		return 0, failed(fmt.Errorf("map %q: %w", name, err))
	case is && m.shards > 0 && m.shards != seen.shards:
		return 0, usage("--shards %d: the map %q has %d hashes, and keeps them", m.shards, name, seen.shards)
	case is:
		return seen.shards, nil
	case seen.kind != kindNone: // with --force, too: nothing else has hashes to look for
		return 0, failed(fmt.Errorf("map %q: %w: it is no sharded map", name, rmap.ErrWrongKind))
	case m.makes && m.shards == 0:
		return 0, usage("there is no sharded map %q: --shards N makes one", name)
	}
	return max(m.shards, 1), nil
}

// removeWhole removes a map. Flags that say its kind have to be right.
func (m *mapCall) removeWhole(ctx context.Context, name string) error {
	seen, err := findObject(ctx, m.tool, mapObjects, name)
	if err != nil {
		return err
	}
	given := map[string]bool{kindCache: m.cache, kindTTLMap: m.native, kindSharded: m.sharded}
	for kind, is := range given {
		asked := kind == seen.kind || kind == kindTTLMap && seen.kind == kindMap // no entry has a time to live
		if is && !asked && !m.force {
			return failed(fmt.Errorf("map %q: %w: it is a %s: leave the flag of its kind out", name, rmap.ErrWrongKind, seen.kind))
		}
	}
	return m.withClient(func(c *rueidisson.Client) error { return m.tellRemoved(ctx, mapHandle(c, name, seen)) })
}

// infoCommand shows the state of a map of any kind.
func (m *mapCall) infoCommand() *cobra.Command {
	cmd := objectInfoCommand(m.tool, mapObjects)
	cmd.Long += `

Of near caches the server knows those that are announced: "announced caches" are the
subscriptions to the map's channel, "announced changes" those that writers have noted
for caches that were away. A near cache that the server itself tells of changes, which
is the default, leaves no trace under the name of the map.`
	return cmd
}

// listSharded shows the names of sharded maps.
func (m *mapCall) listSharded(ctx context.Context, s *scanning, pattern string) error {
	if m.cache || m.native {
		return usage("--cache, --native and --sharded exclude each other")
	}
	return unlessInterrupted(ctx, func(ctx context.Context) error {
		return s.withRedis(func(*rueidisson.Client) error { return listObjects(ctx, s, shardedObjects, cmp.Or(pattern, "*")) })
	})
}

// mapHandle returns what removes a map that a look has found.
func mapHandle(c *rueidisson.Client, name string, seen seenObject) removable {
	switch seen.kind {
	case kindSharded:
		return rmap.NewSharded[string, string](c, name, seen.shards)
	case kindCache:
		return rmap.NewCache[string, string](c, name)
	}
	return rmap.New[string, string](c, name)
}

var (
	mapObjects = objectKind{
		noun: "map", plural: "maps", example: "prices",
		kinds: []string{kindMap, kindTTLMap, kindCache, kindSharded}, is: "hash",
	}
	shardedObjects = objectKind{noun: "map", plural: "sharded maps", example: "prices", kinds: []string{kindSharded}, is: "string"}
)
