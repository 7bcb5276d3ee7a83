package queue

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// kindsOfQueues is a handle of each kind, and how elements get there.
func kindsOfQueues(ctx context.Context, e *locking.Engine) map[string]func(name string) (enginetest.Whole, func(vs ...string) error) {
	return map[string]func(name string) (enginetest.Whole, func(vs ...string) error){
		"queue": func(name string) (enginetest.Whole, func(vs ...string) error) {
			q := New[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) error { _, err := q.Offer(ctx, vs...); return err }
		},
		"bounded queue": func(name string) (enginetest.Whole, func(vs ...string) error) {
			q := NewBounded[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) error {
				_, err := q.TrySetCapacity(ctx, 9)
				if err == nil {
					_, err = q.Offer(ctx, vs...)
				}
				return err
			}
		},
		"ring buffer": func(name string) (enginetest.Whole, func(vs ...string) error) {
			q := NewRing[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) error {
				_, err := q.TrySetCapacity(ctx, 9)
				if err == nil {
					_, err = q.Offer(ctx, vs...)
				}
				return err
			}
		},
		"priority queue": func(name string) (enginetest.Whole, func(vs ...string) error) {
			q := NewPriority[string](e, name, WithCodec(codec.Text))
			return q, func(vs ...string) (err error) {
				for _, v := range vs {
					_, err = q.Offer(ctx, v, 1)
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
	enginetest.AsAnObject(t, kindsOfQueues)
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
