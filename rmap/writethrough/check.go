package writethrough

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Check checks the map that is written, and the locks of its entries, or with [WithBehind] the queue of changes. It writes
// nothing.
//
// Cost: that of the map's Check, and one script call, with WithBehind two. Errors: as [rmap.Map.Check].
func (w *Map[K, V]) Check(ctx context.Context) error {
	if err := object.Checked(ctx, w.bad); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	err := w.m.Check(ctx)
	m := w.h
	if !w.cfg.behind {
		home := m.Home("")
		return errors.Join(err, m.CheckLock(ctx), check.Run(ctx, check.Object{
			Engine: m.Hub.Engine, Kind: m.Kind, Name: m.Name, Commands: []check.Commands{mapstore.ThroughCommands},
			Keys: append(mapstore.Changed(home), check.Each(check.String, keys.MapLoad(home, ""))),
		}))
	}
	return errors.Join(err, w.drain.lock.Check(ctx), check.Run(ctx, check.Object{
		Engine: m.Hub.Engine, Kind: m.Kind, Name: m.Name,
		Keys: append(mapstore.Changed(m.Key), check.Key{Name: keys.MapDead(m.Key), Type: check.Stream},
			check.Key{Name: keys.MapDeadLast(m.Key), Type: check.Hash}, check.Each(check.String, keys.MapLoad(m.Key, ""))),
		Commands: []check.Commands{mapstore.DrainCommands},
	}))
}
