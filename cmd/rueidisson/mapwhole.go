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
	found, err := (&look{tool: m.tool, redis: redis, name: name, brief: true}).object(ctx)
	switch f, is := found.(*shardedFound); {
	case err != nil:
		return 0, failed(fmt.Errorf("map %q: %w", name, err))
	case is && m.shards > 0 && m.shards != f.Shards:
		return 0, usage("--shards %d: the map %q has %d hashes, and keeps them", m.shards, name, f.Shards)
	case is:
		return f.Shards, nil
	case found != nobody: // with --force, too: nothing else has hashes to look for
		return 0, failed(fmt.Errorf("map %q: %w: it is no sharded map", name, rmap.ErrWrongKind))
	case m.makes && m.shards == 0:
		return 0, usage("there is no sharded map %q: --shards N makes one", name)
	}
	return max(m.shards, 1), nil
}

// removeWhole removes a map. Flags that say its kind have to be right.
func (m *mapCall) removeWhole(ctx context.Context, name string) error {
	seen, err := m.findObject(ctx, mapObjects, name)
	if err != nil {
		return err
	}
	given := map[string]bool{"cache": m.cache, "ttl map": m.native, "sharded map": m.sharded}
	for kind, is := range given {
		asked := kind == seen.kind || kind == "ttl map" && seen.kind == "map" // no entry has a time to live
		if is && !asked && !m.force {
			return failed(fmt.Errorf("map %q: %w: it is a %s: leave the flag of its kind out", name, rmap.ErrWrongKind, seen.kind))
		}
	}
	return m.withClient(func(c *rueidisson.Client) error { return m.tellRemoved(ctx, mapHandle(c, name, seen)) })
}

// infoCommand shows the state of a map of any kind.
func (m *mapCall) infoCommand() *cobra.Command {
	cmd := m.objectInfoCommand(mapObjects)
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
		return s.withRedis(func(*rueidisson.Client) error { return s.listObjects(ctx, shardedObjects, cmp.Or(pattern, "*")) })
	})
}
