package semaphore

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var (
	plainCommands  = check.Scripts(lua, "lua/*.lua", "!lua/permit_*.lua")
	permitCommands = check.Scripts(lua, "lua/*.lua")
)

// Check reports what would keep the semaphore from working: a name or an option that cannot be used, a key of another
// type, and what the server's ACL does not permit to this client's user. It asks for every command of every operation. It
// takes no permit and writes nothing. That no permits are set is no error of it. The answer is of this moment.
//
// Cost: one script call, with [WithFleetOrder] two; two more for each if the ACL refuses something. Errors:
// [ErrInvalidArgument]; rueidisson.ErrWrongKind; rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis'
// and the network's.
func (s *Semaphore) Check(ctx context.Context) error {
	o := s.object()
	o.Commands = []check.Commands{plainCommands}
	return s.check(ctx, o)
}

// Check does what [Semaphore.Check] does, and looks at the leases and the labels.
//
// Cost and errors: as [Semaphore.Check].
func (s *PermitSemaphore) Check(ctx context.Context) error {
	o := s.plain.object()
	o.Kind = "semaphore with leases"
	o.Keys = append(o.Keys, check.Keys(check.ZSet, s.of.leases, s.of.gone)...)
	o.Keys = append(o.Keys, check.Keys(check.Hash, s.of.labels)...)
	o.Commands = []check.Commands{permitCommands}
	return s.plain.check(ctx, o)
}

func (s *Semaphore) check(ctx context.Context, o check.Object) error {
	err := check.Run(ctx, o)
	if s.order != nil && s.bad == nil {
		err = errors.Join(err, s.order.line.Check(ctx))
	}
	return err
}

func (s *Semaphore) object() check.Object {
	return check.Object{
		Engine: s.h.e, Kind: "semaphore", Name: s.name, Bad: s.bad,
		Keys: append(check.Keys(check.String, s.of.key, s.of.set),
			check.Each(check.String, s.of.lane), check.Each(check.String, keys.CallerRequest(s.of.key, ""))),
		Channels: []pubsub.Channel{s.h.e.Channel(s.of.channel)},
	}
}
