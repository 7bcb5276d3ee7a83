package ratelimiter

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Check reports what would keep the limiter from working: a name or an option that cannot be used, a key of another
// type, and what the server's ACL does not permit to this client's user. It asks for every command of every operation. It
// takes no tokens and writes nothing. That no rate is stored is no error of it, and it does not compare the rate. The
// answer is of this moment. Of a [Limiter] it looks at the bucket without a key: check [Limiter.For] a key that is like
// those to come.
//
// Cost: one script call, on a cluster one for the rate and one for a key's bucket; two more if the ACL refuses something.
// Errors: [ErrInvalidArgument]; [ErrOtherAlgorithm] and rueidisson.ErrWrongKind; rueidisson.ErrNotPermitted; ctx's error
// and cause; [ErrClosed]; Redis' and the network's.
func (b *Bucket) Check(ctx context.Context) error {
	if b.handle == nil {
		return fmt.Errorf("check: %w: no limiter", ErrInvalidArgument)
	}
	name := b.limiter
	err := check.Run(ctx, check.Object{
		Engine: b.core.Engine, Kind: "rate limiter", Name: name, Bad: b.bad,
		Keys: check.Keys(check.String, b.core.Name, b.state), Commands: []check.Commands{exchange.Commands},
	})
	if errors.Is(err, core.ErrWrongKind) {
		err = fmt.Errorf("%w: %w", ErrOtherAlgorithm, err)
	}
	return err
}

// Check checks the limit, as [Bucket.Check] does, with its cost and errors.
func (s *Shadowed) Check(ctx context.Context) error {
	if s.b == nil {
		return fmt.Errorf("check: %w: no limit in shadow", ErrInvalidArgument)
	}
	return s.b.Check(ctx)
}

// Check checks all members, those in shadow too, as [Bucket.Check] does, at the same time. Its
// error joins theirs.
//
// Cost: what each member's Check costs.
// Errors: [ErrInvalidArgument], [ErrCrossSlot], and those of the members.
func (a *Combined) Check(ctx context.Context) error {
	if err := object.Checked(ctx, a.bad); err != nil {
		return fmt.Errorf("check rate limiters: %w", err)
	}
	all := make([]*Bucket, 0, len(a.members)+len(a.shadows))
	all = append(all, a.members...)
	for _, s := range a.shadows {
		all = append(all, s.b)
	}
	return check.Parallel(len(all), func(i int) error { return all[i].Check(ctx) })
}
