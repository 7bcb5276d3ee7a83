package rwlock

import (
	"context"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
)

// reader is the read side on the server.
type reader struct{ *server }

var _ locking.Protocol = reader{}

// readRenewal extends the name's time to live and the reader's own.
var readRenewal = &lease.Renewal{
	Script: renewScript,
	Add: func(on, args []string, key core.Key, owner string, lease time.Duration) (k, a []string) {
		return append(on, key.Name, keys.ReaderMark(key.Name, owner, 1)),
			append(args, owner, strconv.FormatInt(core.Millis(lease), 10))
	},
	Apart: []*lease.Renewal{lease.LockRenewal, markRenewal},
}

// markRenewal extends the reader's own key alone.
var markRenewal = &lease.Renewal{
	Script: markScript,
	Add: func(on, args []string, key core.Key, owner string, lease time.Duration) (k, a []string) {
		return append(on, keys.ReaderMark(key.Name, owner, 1)), append(args, strconv.FormatInt(core.Millis(lease), 10))
	},
}

func (r reader) Renewal() *lease.Renewal { return readRenewal }

func (r reader) Label() string { return readKind }

func (r reader) Acquire(ctx context.Context, a locking.Try) (locking.Tried, error) {
	stands := digit(a.Queue) // how it treats waiting writers: 0 if it gives up when it is refused, 1 if it waits then
	if a.Stood {
		stands = "2" // it has waited for writers for long enough
	}
	return r.acquire(ctx, r, a.Owner, readAcquireScript,
		[]string{r.name, r.gone, r.claims, r.mark(a.Owner), r.waiting, r.turn},
		[]string{r.e.Millis(a.Lease), a.Owner, r.client(), stands})
}

func (r reader) Release(ctx context.Context, owner string) (lease.Released, error) {
	return released(r.e.Run(ctx, readReleaseScript,
		[]string{r.name, r.mark(owner)}, []string{owner, r.channel, r.e.Publish()}))
}

func (r reader) GiveBack(ctx context.Context, owner string) (lease.Released, error) {
	if err := lockkit.Bury(ctx, r.e, r.gone, owner); err != nil {
		return lease.Released{}, err
	}
	return r.Release(ctx, owner)
}
