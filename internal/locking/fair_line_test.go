package locking

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// fakeQueued is the fake as a lock whose order is the server's. It keeps none:
// what is tested with it is what a process makes of the answers.
type fakeQueued struct{ *fakeServer }

func (q fakeQueued) Turns() string            { return "turns:fake" }
func (q fakeQueued) Told(string) string       { return "told:fake" }
func (q fakeQueued) Wake(owner string) string { return owner }

func (q fakeQueued) Keep(context.Context, Heartbeat) (k HeartbeatReply, err error) {
	err = q.travel(func() { k.Free, k.Left, k.Soon = q.holder == "", -1, -1 })
	return k, err
}

func (q fakeQueued) ReleaseTo(ctx context.Context, who string, _ []Candidate) (g HandoverResult, err error) {
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

// So has whoever tries without a place, whether it wins or not.
func TestATryEndsTheOutageOfALine(t *testing.T) {
	for name, holder := range map[string]string{"wins": "", "is refused": "somebody else"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				q := fakeQueued{s}
				s.set(func() { s.down = io.ErrUnexpectedEOF })
				waits := q.wait(t.Context()) // fails once
				synctest.Wait()
				s.set(func() { s.down, s.requests = nil, 40*time.Second })
				time.Sleep(150 * time.Millisecond) // it has asked again
				s.set(func() { s.requests, s.holder = 0, holder })
				seat := new(seated)
				held, err := s.e.Acquire(t.Context(), q, Ask{Bounded: true}, seat)
				if holder != "" {
					require.ErrorIs(t, err, core.ErrNotAcquired)
				} else {
					require.NoError(t, err)
					require.NoError(t, (&taken{held, seat}).Release(t.Context()))
				}
				s.set(func() { s.down = io.ErrUnexpectedEOF })
				time.Sleep(40 * time.Second) // until it has failed for a moment
				s.set(func() { s.down, s.holder = nil, "" })
				require.Empty(t, waits, "it bears an outage for as long as anybody")
				o := <-waits
				require.NoError(t, o.err)
				require.NoError(t, o.held.Release(t.Context()))
			})
		})
	}
}

// timed is a fakeQueued with a clock of its own, which writes down how late the
// keeps are that it is asked for.
type timed struct {
	fakeQueued
	ahead time.Duration // of the process's clock
	late  []time.Duration
}

func (q *timed) says() time.Duration { return q.clock().Mono + q.ahead }

func (q *timed) Acquire(ctx context.Context, a Try) (Tried, error) {
	tried, err := q.fakeQueued.Acquire(ctx, a)
	tried.Clock = q.says() - q.replies
	return tried, err
}

func (q *timed) Keep(_ context.Context, asked Heartbeat) (k HeartbeatReply, err error) {
	k.Started = q.clock()
	err = q.travel(func() {
		k.Left, k.Soon, k.Clock = -1, -1, q.says()
		q.late = append(q.late, k.Clock-asked.Clock)
	})
	return k, err
}

// keepsFor lets somebody wait for so long, and returns how late its keeps were.
func (q *timed) keepsFor(t *testing.T, d time.Duration, meanwhile func()) []time.Duration {
	t.Helper()
	q.set(func() { q.holder = "somebody else" })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := q.e.Acquire(ctx, q, Ask{}, new(seated))
		ended <- err
	}()
	time.Sleep(d / 2)
	meanwhile()
	time.Sleep(d / 2)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	var late []time.Duration
	q.set(func() { late = q.late })
	return late
}

// However long the way to the server is, what is said there is not out of date
// while that stays as it is.
func TestAKeepOnALongWayIsNotLate(t *testing.T) {
	for _, way := range []struct{ there, back time.Duration }{
		{300 * time.Millisecond, 300 * time.Millisecond}, {600 * time.Millisecond, 0}, {0, 600 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := &timed{fakeQueued: fakeQueued{newFake(t)}, ahead: 500_000 * time.Hour}
			q.set(func() { q.requests, q.replies = way.there, way.back })
			late := q.keepsFor(t, 20*time.Second, func() {})
			require.Greater(t, len(late), 20)
			for _, l := range late {
				require.Zero(t, l)
			}
		})
	}
}

// A keep that a server did late, which stood still, does not make the next one
// look as if it were in time. A way that has become longer is known soon, and so
// is a clock that was set.
func TestKeepsThatAreLateOneAfterTheOtherAreLate(t *testing.T) {
	for _, step := range []time.Duration{0, -10 * time.Second, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			q := &timed{fakeQueued: fakeQueued{newFake(t)}, ahead: 500_000 * time.Hour}
			before := 0
			late := q.keepsFor(t, 40*time.Second, func() {
				q.set(func() {
					before = len(q.late)
					if q.ahead += step; step == 0 {
						q.requests = 2 * time.Second
					}
				})
			})
			after := late[before:]
			require.Greater(t, len(after), 5)
			if step == 0 {
				require.Equal(t, []time.Duration{2 * time.Second, 2 * time.Second, 0}, after[:3])
			}
			for _, l := range after[2:] {
				require.LessOrEqual(t, l, time.Duration(0))
			}
		})
	}
}

// losing is a fakeQueued that has lost the places, and is late for who would bring
// them back.
type losing struct {
	fakeQueued
	late  int // how often
	asked []time.Duration
	found []string
}

func (q *losing) Keep(_ context.Context, asked Heartbeat) (k HeartbeatReply, err error) {
	k.Started = q.clock()
	err = q.travel(func() {
		k.Left, k.Soon = -1, -1
		if len(asked.Lost) > 0 {
			q.asked = append(q.asked, time.Since(q.started))
			if len(q.asked) <= q.late {
				k.Found = -1
				return
			}
			q.found = asked.Lost
		}
		k.Found, k.Places = len(q.found), q.found
	})
	return k, err
}

// Who comes too late to bring back lost places says so, and tries again with the
// next keep.
func TestPlacesThatWereBroughtBackTooLateAreWithTheNextKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &losing{fakeQueued: fakeQueued{newFake(t)}, late: 3}
		q.set(func() { q.holder = "somebody else" })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := q.e.Acquire(ctx, q, Ask{}, new(seated))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, q.asked, 4)
		for i, at := range q.asked[1:] {
			require.LessOrEqual(t, at-q.asked[i], keepEvery)
		}
	})
}
