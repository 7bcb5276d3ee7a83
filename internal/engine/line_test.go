package engine

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeQueued is the fake as a lock whose order is the server's. It keeps none:
// what is tested with it is what a process makes of the answers.
type fakeQueued struct{ *fakeServer }

func (q fakeQueued) Turns() string            { return "turns:fake" }
func (q fakeQueued) Told(string) string       { return "told:fake" }
func (q fakeQueued) Wake(owner string) string { return owner }

func (q fakeQueued) Keep(context.Context, Keeping) (k Kept, err error) {
	err = q.travel(func() { k.Free, k.Left, k.Soon = q.holder == "", -1, -1 })
	return k, err
}

func (q fakeQueued) ReleaseTo(ctx context.Context, who string, _ []Candidate) (g Granted, err error) {
	g.Released, err = q.Release(ctx, who)
	return g, err
}

func (q fakeQueued) Quit(ctx context.Context, who string) error {
	_, err := q.Release(ctx, who)
	return err
}

func (q fakeQueued) Skip(context.Context, string) error { return nil }

// wait acquires in the line; it ends with the lock or with ctx.
func (q fakeQueued) wait(ctx context.Context) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		seat := new(seated)
		held, err := q.e.Acquire(ctx, q, Ask{}, seat)
		out <- outcome{&taken{held, seat}, err, time.Since(q.started)}
	}()
	return out
}

// Whoever wins has had an answer: what failed before it is no part of an outage
// that others of the line meet later.
func TestAWinEndsTheOutageOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		q := fakeQueued{s}
		s.set(func() { s.down = io.ErrUnexpectedEOF })
		first := q.wait(t.Context()) // fails once
		synctest.Wait()
		s.set(func() { s.down, s.requests = nil, time.Second })
		time.Sleep(150 * time.Millisecond) // the first has asked again
		s.set(func() { s.requests = 40 * time.Second })
		second := q.wait(t.Context())
		synctest.Wait() // it has asked
		s.set(func() { s.requests = 0 })
		won := <-first
		require.NoError(t, won.err)
		s.set(func() { s.down = io.ErrUnexpectedEOF })
		time.Sleep(39100 * time.Millisecond) // until the second has failed for a moment
		s.set(func() { s.down = nil })
		require.Empty(t, second, "it bears an outage for as long as anybody")
		require.NoError(t, won.held.Release(t.Context()))
		o := <-second // nobody has refused it
		require.NoError(t, o.err)
		require.NoError(t, o.held.Release(t.Context()))
	})
}
