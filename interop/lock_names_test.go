//go:build interop

package interop

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// The forms of a name, around something that no other test uses.
var (
	wellFormed = []string{"%s", "{%s}:x", "a{%s}c", "x{{%s}}z", "{%s}{other}", "größe %s+%%25\n\"", "a:%s:*?[b]"}
	// Go refuses it on a cluster too; Redisson looks for it in another slot, and the server sends it on.
	backward  = "a}%s{c}"
	illFormed = []string{"a}%s", "a{%s", "a{}%s", "{}%s", "%s{", "{}{%s}"}
)

// names lets both sides hold, exclude and wake each other under every form of a name. On a cluster an
// ill-formed one cannot work: Go refuses it, and Java is told by the server.
func names(t *testing.T, w *world) {
	ctx, c := within(t), w.client(t)
	for _, form := range wellFormed {
		w.shareName(ctx, t, c, fmt.Sprintf(form, redistest.Name(t)))
	}
	for _, form := range append(illFormed, backward) {
		name := fmt.Sprintf(form, redistest.Name(t))
		switch {
		case !w.cluster:
			w.shareName(ctx, t, c, name)
		case form == backward:
			w.refuseName(ctx, t, c, name)
		default:
			w.refuseName(ctx, t, c, name)
			w.javaCannotUnlock(ctx, t, name)
		}
	}
}

func (w *world) shareName(ctx context.Context, t *testing.T, c *rueidisson.Client, name string) {
	t.Helper()
	t.Logf("sharing %q", name)
	theirs := w.thread(t, name)
	mine := mustLock(ctx, t, c.Lock(name), lock.WithLease(longLease))
	require.Len(t, w.hash(ctx, t, name), 1)
	javaGot := w.javaWaits(ctx, t, theirs, name)
	require.NoError(t, mine.Unlock(ctx))
	javaHas(t, javaGot)

	require.Len(t, w.hash(ctx, t, name), 1)
	w.awaitSilence(ctx, t, name)
	goGot := w.goWaits(ctx, t, c.Lock(name))
	require.NoError(t, theirs.Unlock(ctx))
	mine, _ = goHas(t, goGot)
	require.NoError(t, mine.Unlock(ctx))
	require.False(t, w.exists(ctx, t, name))
}

func (w *world) refuseName(ctx context.Context, t *testing.T, c *rueidisson.Client, name string) {
	t.Helper()
	_, err := c.Lock(name).Lock(ctx)
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument, name)
	_, err = c.Lock(name).ForceUnlock(ctx)
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument, name)
	require.False(t, w.exists(ctx, t, name), name)
}

// javaCannotUnlock: the script that takes the lock has one key, so Java learns it when it unlocks.
func (w *world) javaCannotUnlock(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	theirs := w.thread(t, name)
	require.NoError(t, theirs.LockFor(ctx, shortLease), name)
	require.ErrorContains(t, theirs.Unlock(ctx), "CROSSSLOT", name)
}
