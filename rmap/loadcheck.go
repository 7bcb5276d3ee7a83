package rmap

import (
	"context"
	"errors"
	"strings"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	loadCommands  = withoutTimes(check.Scripts(lua, "lua/load_*.lua"))
	leaseCommands = check.Sent(unlease)
)

// Check checks the map that is loaded, and the leases of those who load. It loads nothing.
//
// Cost: that of the map's Check, and one script call, two where loads take the lock of the entry. Errors: as [Map.Check].
func (l *Loading[K, V]) Check(ctx context.Context) error {
	if err := object.Checked(ctx, l.bad); err != nil {
		return l.failed("check", err)
	}
	err := l.m.Check(ctx)
	home := l.h.home("")
	lease := keys.MapLoad(home, "")
	if l.h.isCache() {
		lease = keys.MapLease(home)
	}
	err = errors.Join(err, check.Run(ctx, check.Object{
		Engine: l.h.h.e, Kind: l.h.kind, Name: l.h.name,
		Keys:     append(changed(home), check.Each(check.String, lease)),
		Channels: []pubsub.Channel{l.h.h.e.Channel(strings.TrimSuffix(keys.MapLoaded(home, ""), keys.GroupField("")) + "0")},
		Commands: []check.Commands{loadCommands, leaseCommands},
	}))
	if l.locks {
		err = errors.Join(err, l.h.checkLock(ctx))
	}
	return err
}
