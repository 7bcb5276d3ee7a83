package election

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

var commands = check.Scripts(lua, "lua/*.lua")

// Check reports what would keep the election from working: a name or an option that cannot be used, a key of another type,
// a lock of another family, and what the server's ACL does not permit to this client's user. It asks for every command of
// every operation. It does not campaign, and writes nothing. The answer is of this moment.
//
// Cost: two script calls; two more for each if the ACL refuses something. Errors: [lock.ErrInvalidArgument];
// [lock.ErrWrongKind]; rueidisson.ErrNotPermitted; ctx's error and cause; [lock.ErrClosed]; Redis' and the network's.
func (el *Election) Check(ctx context.Context) error {
	if err := object.Checked(ctx, el.bad); err != nil {
		return el.failed("check", err)
	}
	return errors.Join(el.line.Check(ctx), check.Run(ctx, check.Object{
		Engine: el.p.e, Kind: kind, Name: el.Name(), Bad: el.bad,
		Keys:     check.Keys(check.Hash, el.p.name, el.p.term),
		Channels: []pubsub.Channel{el.p.e.Channel(el.p.term)},
		Commands: []check.Commands{commands},
	}))
}
