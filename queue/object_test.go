package queue

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// whole is what every kind of queue is as an object.
type whole interface {
	Rename(ctx context.Context, to string) (bool, error)
	RenameIfAbsent(ctx context.Context, to string) (bool, error)
	Copy(ctx context.Context, to string) (bool, error)
	ExpireAt(ctx context.Context, at time.Time) (bool, error)
	SizeInMemory(ctx context.Context) (int64, error)
	Remaining(ctx context.Context) (time.Duration, error)
	Exists(ctx context.Context) (bool, error)
	Len(ctx context.Context) (int64, error)
	Delete(ctx context.Context) (bool, error)
}

// kindsOfQueues is a handle of each kind, and how elements get there.
func kindsOfQueues(ctx context.Context, e *locking.Engine) map[string]func(name string) (whole, func(vs ...string) error) {
	return map[string]func(name string) (whole, func(vs ...string) error){
		"queue": func(name string) (whole, func(vs ...string) error) {
			q := New[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) error { _, err := q.Offer(ctx, vs...); return err }
		},
		"bounded queue": func(name string) (whole, func(vs ...string) error) {
			q := NewBounded[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) error {
				_, err := q.TrySetCapacity(ctx, 9)
				if err == nil {
					_, err = q.Offer(ctx, vs...)
				}
				return err
			}
		},
		"ring buffer": func(name string) (whole, func(vs ...string) error) {
			q := NewRing[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) error {
				_, err := q.TrySetCapacity(ctx, 9)
				if err == nil {
					_, err = q.Offer(ctx, vs...)
				}
				return err
			}
		},
		"priority queue": func(name string) (whole, func(vs ...string) error) {
			q := NewPriority[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) (err error) {
				for _, v := range vs {
					_, err = q.Offer(ctx, v, 1)
				}
				return err
			}
		},
		"stream": func(name string) (whole, func(vs ...string) error) {
			s := NewStream[string, string](e, name, WithCodec(codec.Text))
			return s, func(vs ...string) (err error) {
				for _, v := range vs {
					_, err = s.Add(ctx, map[string]string{"k": v})
				}
				return err
			}
		},
	}
}

// TestAQueueAsAnObject is copied, renamed where nothing is in the way, goes at a time, and takes memory, whatever kind
// it is.
func TestAQueueAsAnObject(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		raw := redistest.Shared(t, redistest.Version(version)).Client(t)
		for kind, of := range kindsOfQueues(t.Context(), engineOn(t, raw)) {
			t.Run(version+" "+kind, func(t *testing.T) {
				t.Parallel()
				asAnObject(t, of)
			})
		}
	}
}

func asAnObject(t *testing.T, of func(name string) (whole, func(vs ...string) error)) {
	ctx, name := t.Context(), redistest.Name(t)
	q, offer := of(name)
	other, offerOther := of(name + "-b")
	third, _ := of(name + "-c")
	t.Cleanup(func() {
		for _, one := range []whole{q, other, third} {
			_, _ = one.Delete(context.Background())
		}
	})
	is := func(want bool) func(is bool, err error) {
		return func(is bool, err error) { t.Helper(); require.NoError(t, err); require.Equal(t, want, is) }
	}
	has := func(q whole, want int64) {
		t.Helper()
		n, err := q.Len(ctx)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	size := func(q whole) int64 { t.Helper(); n, err := q.SizeInMemory(ctx); require.NoError(t, err); return n }
	require.Zero(t, size(q))
	is(false)(q.Copy(ctx, name+"-b"))
	is(false)(q.RenameIfAbsent(ctx, name+"-b"))
	is(false)(q.ExpireAt(ctx, time.Now().Add(time.Hour)))

	require.NoError(t, offer("a", "b"))
	require.Positive(t, size(q))
	is(true)(q.ExpireAt(ctx, time.Now().Add(time.Hour)))
	is(true)(q.Copy(ctx, name+"-b"))
	require.Positive(t, size(other))
	for _, q := range []whole{q, other} {
		left, err := q.Remaining(ctx)
		require.NoError(t, err)
		require.InDelta(t, time.Hour, left, float64(time.Minute))
	}
	require.NoError(t, offerOther("c"))
	has(q, 2)
	has(other, 3)
	is(false)(q.Copy(ctx, name+"-b"))
	is(false)(q.RenameIfAbsent(ctx, name+"-b"))
	has(q, 2)
	has(other, 3)
	is(true)(q.RenameIfAbsent(ctx, name+"-c"))
	is(false)(q.Exists(ctx))
	has(third, 2)
	is(true)(third.Rename(ctx, name+"-b"))
	has(other, 2)
	is(true)(other.ExpireAt(ctx, time.Now().Add(-time.Hour)))
	is(false)(other.Exists(ctx))
	require.Zero(t, size(other))

	for _, at := range []time.Time{{}, time.Now().Add(2 * core.LongestLease)} {
		_, err := q.ExpireAt(ctx, at)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err := q.Copy(ctx, "")
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestACopyWakesWhoWaitsForItsName: it has come there.
func TestACopyWakesWhoWaitsForItsName(t *testing.T) {
	t.Parallel()
	onServersThatCopy(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		from, to := New[string](e, named(t, raw), WithCodec(codec.Text)), New[string](e, named(t, raw)+"-b", WithCodec(codec.Text))
		offered(t, from, "a")
		done := make(chan error, 1)
		go func() {
			_, err := to.Take(t.Context())
			done <- err
		}()
		untilWaiting(t, to, head.kind)
		did, err := from.Copy(t.Context(), to.Name())
		require.NoError(t, err)
		require.True(t, did)
		require.NoError(t, redistest.Done(t, done))
	})
}

func onServersThatCopy(t *testing.T, test func(t *testing.T, raw rueidis.Client)) {
	for _, version := range []string{"7.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, redistest.Shared(t, redistest.Version(version)).Client(t))
		})
	}
}
