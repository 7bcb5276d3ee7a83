package rmap

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
)

var (
	throughCommands = withoutTimes(check.Scripts(lua, "lua/through.lua"))
	drainCommands   = withoutTimes(check.Scripts(lua, "lua/behind*.lua"))
)

// Check checks the map that is written, and the locks of its entries, or with [WithBehind] the queue of changes. It writes
// nothing.
//
// Cost: that of the map's Check, and one script call, with WithBehind two. Errors: as [Map.Check].
func (w *Writing[K, V]) Check(ctx context.Context) error {
	if err := object.Checked(ctx, w.bad); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	err := w.m.Check(ctx)
	m := w.h
	if !w.cfg.behind {
		home := m.home("")
		return errors.Join(err, m.checkLock(ctx), check.Run(ctx, check.Object{
			Engine: m.h.e, Kind: m.kind, Name: m.name, Commands: []check.Commands{throughCommands},
			Keys: append(changed(home), check.Each(check.String, keys.MapLoad(home, ""))),
		}))
	}
	return errors.Join(err, w.drain.lock.Check(ctx), check.Run(ctx, check.Object{
		Engine: m.h.e, Kind: m.kind, Name: m.name,
		Keys: append(changed(m.key), check.Key{Name: keys.MapDead(m.key), Type: check.Stream},
			check.Key{Name: keys.MapDeadLast(m.key), Type: check.Hash}, check.Each(check.String, keys.MapLoad(m.key, ""))),
		Commands: []check.Commands{drainCommands},
	}))
}
