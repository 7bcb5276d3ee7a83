package redlock

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/quorum"
)

var (
	aliveCommands = check.Sent(aliveCommand)
	guardCommands = check.Named("info") // of uptime.lua
)

// Check checks every member, as [lock.Lock.Check] does, all at the same time, and whether the servers may be asked
// since when they run, unless [WithRestartGuard] is 0. Its error joins those of the members, and each names its
// member: a red lock works while more than half are fine, and Check also reports fewer.
//
// Cost: two script calls for each member. Errors: [ErrInvalidArgument], and those of the members.
func (r *Lock) Check(ctx context.Context) error {
	commands := []check.Commands{aliveCommands}
	if r.guard != 0 {
		commands = append(commands, guardCommands)
	}
	return quorum.Check(ctx, "red lock", r.all, r.bad, commands)
}
