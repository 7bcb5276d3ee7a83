package readthrough

import (
	"context"
	"errors"
	"strings"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Check checks the map that is loaded, and the leases of loads. It loads nothing.
//
// Cost: that of the map's Check, and one script call, two where loads take the lock of the entry. Errors: as [rmap.Map.Check].
func (l *Map[K, V]) Check(ctx context.Context) error {
	if err := object.Checked(ctx, l.bad); err != nil {
		return l.failed("check", err)
	}
	err := l.m.Check(ctx)
	home := l.h.Home("")
	lease := keys.MapLoad(home, "")
	if l.h.IsCache() {
		lease = keys.MapLease(home)
	}
	err = errors.Join(err, check.Run(ctx, check.Object{
		Engine: l.h.Hub.Engine, Kind: l.h.Kind, Name: l.h.Name,
		Keys:     append(mapstore.Changed(home), check.Each(check.String, lease)),
		Channels: []pubsub.Channel{l.h.Hub.Engine.Channel(strings.TrimSuffix(keys.MapLoaded(home, ""), keys.GroupField("")) + "0")},
		Commands: []check.Commands{mapstore.LoadCommands, mapstore.LeaseCommands},
	}))
	if l.locks {
		err = errors.Join(err, l.h.CheckLock(ctx))
	}
	return err
}
