package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// LossOf returns what the loss of a grant is told as. One that has gone from a
// server which evicts keys may have been evicted.
func (t *Grant) LossOf(cause error) error {
	loss := LossOf(cause)
	if !errors.Is(cause, watchdog.ErrGone) || errors.Is(cause, core.ErrLost) {
		return loss
	}
	if policy := t.k.Evicts(t.Key()); policy != "" {
		return fmt.Errorf("%w (it may have been evicted: the server's maxmemory-policy is %s)", loss, policy)
	}
	return loss
}

// Hurry makes the next renewal of what this client holds of key, or of another
// kind of its family, due at once.
func (k *Keeper) Hurry(key core.Key) {
	k.EachLease(func(l *watchdog.Lease) {
		if of := GrantOf(l).grant().Key(); of.Name == key.Name && core.Family(of.Kind) == core.Family(key.Kind) {
			k.dog.Hurry(l)
		}
	})
}

// GiveBackLater keeps saying that owner is given back until the server has
// answered, or has forgotten it: nothing renews it any more, and lease is the
// longest that it was asked for.
func (k *Keeper) GiveBackLater(g Protocol, owner string, lease time.Duration) {
	until := time.Now().Add(max(lease, send.RequestMemory) + 2*k.SendTimeout())
	key := g.Key()
	k.AddCleanup(send.Cleanup{Key: key.Name, Until: until, Work: ReleaseOf(key), Run: func(ctx context.Context) error {
		_, err := g.GiveBack(ctx, owner)
		return err
	}})
}

// ReleaseOf names the release of one hold of key, for the log and the observer.
func ReleaseOf(key core.Key) core.Work {
	return core.Work{Kind: key.Kind, Name: key.Shown(), Op: "release", Amount: 1}
}
