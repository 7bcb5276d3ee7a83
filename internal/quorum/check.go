package quorum

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/object"
)

// Check checks every member at the same time, and with more commands its server. Its error joins those of the members.
func Check(ctx context.Context, kind string, all []Member, bad error, more []check.Commands) error {
	if err := object.Checked(ctx, bad); err != nil {
		return object.Failed("check", kind, Names(all), err)
	}
	return check.Parallel(len(all), func(i int) error {
		m := all[i]
		var err error
		if one, is := m.Locker.(interface {
			Check(ctx context.Context) error
		}); is {
			err = one.Check(ctx)
		}
		if len(more) == 0 {
			return err
		}
		return errors.Join(err, check.Run(ctx, check.Object{
			Engine: m.Engine, Kind: kind, Name: m.Name(), Keys: []check.Key{{Name: m.Key.Name}}, Commands: more,
		}))
	})
}
