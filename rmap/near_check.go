package rmap

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
// Cost: that of the map's Check, and one script call for each of its hashes. Errors: as [Map.Check].
func (n *Near[K, V]) Check(ctx context.Context) error {
	if err := object.Checked(ctx, n.bad); err != nil || n.m == nil {
		return fmt.Errorf("check near cache: %w", errors.Join(err, n.b.bad))
	}
	err := n.m.Check(ctx)
	if n.b.h == nil {
		return err
	}
	e := n.b.h.e
	return errors.Join(err, check.Parallel(len(n.b.keys), func(i int) error {
		key := n.b.keys[i]
		o := check.Object{Engine: e, Kind: "near cache", Name: n.m.Name(), Bad: n.b.bad, Keys: check.Keys(check.Hash, key), Commands: []check.Commands{nearCommands}}
		if n.cfg.announced {
			cached, caches := keys.NearDisabled(key)
			o.Keys = append(o.Keys, check.Key{Name: keys.NearLog(key), Type: check.ZSet}, check.Key{Name: cached}, check.Key{Name: caches})
			o.Channels = []pubsub.Channel{e.Channel(keys.NearChannel(key))}
		}
		return check.Run(ctx, o)
	}))
}
