package semaphore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// suite is what every server must do.
var suite = map[string]func(t *testing.T, r *rig){
	"takes and gives": func(t *testing.T, r *rig) {
		r.set(5)
		r.take(2)
		r.take(3)
		r.refused(1)
		r.give(1)
		r.refused(2)
		r.take(1)
		r.give(5)
		n, err := r.Available(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 5, n)
	},
	"set, try to set, add, drain, delete": func(t *testing.T, r *rig) {
		did, err := r.TrySetPermits(t.Context(), 3)
		require.NoError(t, err)
		require.True(t, did)
		did, err = r.TrySetPermits(t.Context(), 4)
		require.NoError(t, err)
		require.False(t, did)
		require.NoError(t, r.AddPermits(t.Context(), 4))
		require.EqualValues(t, 7, r.free())
		n, err := r.Drain(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 7, n)
		n, err = r.Drain(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.NoError(t, r.AddPermits(t.Context(), -2))
		require.EqualValues(t, -2, r.free())
		n, err = r.Available(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		r.refused(1)
		n, err = r.Drain(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.EqualValues(t, -2, r.free(), "a reduction stays")
		r.give(3)
		r.take(1)
		r.set(9)
		require.EqualValues(t, 9, r.free())
		did, err = r.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, did)
		did, err = r.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, did)
	},
	"not set": func(t *testing.T, r *rig) {
		err := r.TryAcquire(t.Context(), 1)
		require.ErrorIs(t, err, ErrNotSet)
		require.ErrorIs(t, err, ErrNotAcquired)
		err = r.TryAcquire(t.Context(), 1, WithWait(time.Second))
		require.ErrorIs(t, err, ErrNotSet)
		require.ErrorIs(t, err, ErrNotAcquired)
		err = r.Release(t.Context(), 1)
		require.ErrorIs(t, err, ErrNotSet)
		require.NotErrorIs(t, err, ErrNotAcquired)
		n, err := r.Available(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		done := r.acquiring(t.Context(), 2)
		redistest.Waits(t, done)
		keys, err := r.Raw.Do(t.Context(), r.Raw.B().Keys().Pattern("*"+r.of.key+"*").Build()).AsStrSlice()
		require.NoError(t, err)
		for _, key := range keys { // that the release was refused is remembered for a while
			require.Contains(t, key, "rueidisson_lane:")
			left, err := r.Raw.Do(t.Context(), r.Raw.B().Pttl().Key(key).Build()).AsInt64()
			require.NoError(t, err)
			require.Positive(t, left, key)
		}
		r.set(2)
		got(t, done)
	},
	"a time to live": func(t *testing.T, r *rig) {
		did, err := r.TrySetPermits(t.Context(), 3, WithTTL(time.Hour))
		require.NoError(t, err)
		require.True(t, did)
		r.take(2)
		r.give(1)
		require.NoError(t, r.AddPermits(t.Context(), 1))
		_, err = r.Drain(t.Context())
		require.NoError(t, err)
		msg := r.Ask("PTTL", r.of.key)
		ttl, err := msg.AsInt64()
		require.NoError(t, err)
		assert.Greater(t, ttl, int64(3_000_000))
		r.set(1)
		msg = r.Ask("PTTL", r.of.key)
		ttl, err = msg.AsInt64()
		require.NoError(t, err)
		assert.EqualValues(t, -1, ttl)
	},
	"waiting": func(t *testing.T, r *rig) {
		other := r.beside()
		r.set(1)
		r.take(1)
		done := other.acquiring(t.Context(), 1)
		other.waiting(1)
		r.give(1)
		got(t, done)
		require.ErrorIs(t, r.TryAcquire(t.Context(), 1, WithWait(time.Second)), ErrNotAcquired)
		ctx, cancel := context.WithCancel(t.Context())
		done = r.acquiring(ctx, 1)
		r.waiting(1)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		other.give(1)
		require.NoError(t, r.TryAcquire(t.Context(), 1, WithWait(soon)))
	},
	"another type": func(t *testing.T, r *rig) {
		const text = "string that is no integer"
		for _, c := range []struct{ say, kind string }{{"HSET f v", "hash"}, {"SET many", text}, {"SET 1.5", text}, {"SET 0x10", text}} {
			words := strings.Fields(c.say)
			r.Ask(slices.Insert(words, 1, r.of.key)...)
			_, drain := r.Drain(t.Context())
			_, tried := r.TrySetPermits(t.Context(), 1)
			_, looked := r.Available(t.Context())
			_, deleted := r.Delete(t.Context())
			for op, err := range map[string]error{
				"try": r.TryAcquire(t.Context(), 1), "acquire": r.Acquire(t.Context(), 1), "release": r.Release(t.Context(), 1),
				"set": r.SetPermits(t.Context(), 1), "add": r.AddPermits(t.Context(), 1), "drain": drain, "try set": tried,
				"look": looked, "delete": deleted,
			} {
				require.ErrorContains(t, err, r.of.key, op)
				require.ErrorContains(t, err, c.kind, op)
				require.NotErrorIs(t, err, ErrOutcomeUnknown, op)
			}
			msg := r.Ask("DEL", r.of.key)
			n, err := msg.AsInt64()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
	},
	"no more than 2^31-1": func(t *testing.T, r *rig) {
		r.set(most - 1)
		require.ErrorIs(t, r.Release(t.Context(), 2), ErrInvalidArgument)
		require.ErrorIs(t, r.AddPermits(t.Context(), 2), ErrInvalidArgument)
		require.EqualValues(t, most-1, r.free())
		r.give(1)
		r.take(most)
		require.NoError(t, r.AddPermits(t.Context(), -most))
		require.ErrorIs(t, r.AddPermits(t.Context(), -1), ErrInvalidArgument)
		require.EqualValues(t, -most, r.free())
	},
}

func TestSuite(t *testing.T) {
	t.Parallel()
	redistest.OnEveryServer(t, func(t *testing.T, client func(t testing.TB) rueidis.Client) {
		for name, test := range suite {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, rigOn(t, client(t), redistest.Name(t)))
			})
		}
	})
}
