package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Shut ends renewals, and the contexts of holds with ErrClosed.
func Shut(k *Keeper) {
	k.dog.Close()
	k.EachLease(func(l *watchdog.Lease) { GrantOf(l).Closing() })
}

// AwaitHolders returns when no hold is left that could still be trusted.
func AwaitHolders(ctx context.Context, k *Keeper) error {
	for {
		longest := k.longestLease()
		if longest == 0 {
			return k.leftOver(nil)
		}
		timer := time.NewTimer(longest)
		select {
		case <-k.freed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return k.leftOver(core.ContextError(ctx))
		}
		timer.Stop()
	}
}

// longestLease returns how long the last of the holds can still be trusted.
func (k *Keeper) longestLease() (longest time.Duration) {
	k.EachLease(func(l *watchdog.Lease) { longest = max(longest, l.Left(k.Now())) })
	return longest
}

func (k *Keeper) leftOver(why error) error {
	var names []string
	k.EachLease(func(l *watchdog.Lease) {
		if cause, _ := l.Ended(); !errors.Is(cause, core.ErrReleased) { // else its holder is just giving it back
			names = append(names, fmt.Sprintf("%q", GrantOf(l).grant().Key().Shown()))
		}
	})
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	left := errors.New("closed with holds that were not unlocked, left to their leases: " + strings.Join(names, ", "))
	if why == nil {
		return left
	}
	return fmt.Errorf("%w (%w)", left, why)
}
