package nearcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var nearCommands = check.Named("pttl", "info", "client info", "client tracking")

// Check checks the map that the copies are of, and what tells of its changes.
//
// Cost: that of the map's Check, and one script call for each of its hashes. Errors: as [rmap.Map.Check].
func (n *Cache[K, V]) Check(ctx context.Context) error {
	if err := object.Checked(ctx, n.bad); err != nil || n.m == nil {
		return fmt.Errorf("check near cache: %w", errors.Join(err, n.b.Bad))
	}
	err := n.m.Check(ctx)
	if n.b.Hub == nil {
		return err
	}
	e := n.b.Hub.Engine
	return errors.Join(err, check.Parallel(len(n.b.Keys), func(i int) error {
		key := n.b.Keys[i]
		o := check.Object{Engine: e, Kind: "near cache", Name: n.m.Name(), Bad: n.b.Bad, Keys: check.Keys(check.Hash, key), Commands: []check.Commands{nearCommands}}
		if n.cfg.announced {
			cached, caches := keys.NearDisabled(key)
			o.Keys = append(o.Keys, check.Key{Name: keys.NearLog(key), Type: check.ZSet}, check.Key{Name: cached}, check.Key{Name: caches})
			o.Channels = []pubsub.Channel{e.Channel(keys.NearChannel(key))}
		}
		return check.Run(ctx, o)
	}))
}
