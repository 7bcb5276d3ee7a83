package redissonlimiter

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

var commands = check.Scripts(lua, "lua/*.lua")

// Check reports what would keep the limiter from working: a name that cannot be used, a key of another type, and what the
// server's ACL does not permit to this client's user. It asks for every command of every operation. It takes nothing and
// writes nothing. That no rate is set is no error of it. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ratelimiter.ErrInvalidArgument];
// [ratelimiter.ErrOtherAlgorithm] and rueidisson.ErrWrongKind; rueidisson.ErrNotPermitted; ctx's error and cause;
// [ratelimiter.ErrClosed]; Redis' and the network's.
func (l *Limiter) Check(ctx context.Context) error {
	on := l.log.keys
	err := check.Run(ctx, check.Object{
		Engine: l.e, Kind: "rate limiter", Name: l.name, Bad: l.bad,
		Keys: []check.Key{
			{Name: on[0], Type: check.Hash}, {Name: on[1], Type: check.String}, {Name: on[2], Type: check.ZSet},
			{Name: on[3], Type: check.String}, {Name: on[4], Type: check.ZSet},
		},
		Commands: []check.Commands{commands},
	})
	if errors.Is(err, core.ErrWrongKind) {
		err = fmt.Errorf("%w: %w", ratelimiter.ErrOtherAlgorithm, err)
	}
	return err
}
