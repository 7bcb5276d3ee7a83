package redissonlimiter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	r := rigOn(t, raw)
	for i := range 12 { // on all nodes
		for _, form := range []string{"%s%d", "{%s%d}:x", "a{%s%d}c"} {
			r.name = fmt.Sprintf(form, redistest.Name(t), i)
			r.Limiter = redissonlimiter.New(r.e, r.name)
			for _, rate := range []redissonlimiter.Rate{atMost(5, time.Hour), atMostEach(5, time.Hour)} {
				r.set(rate, redissonlimiter.WithKeepState())
				r.allowed(3)
				r.refused(3)
				require.NoError(t, r.Release(t.Context(), 1))
				require.NoError(t, r.WaitN(t.Context(), 3))
				r.available(0)
				updated, err := r.UpdateRate(t.Context(), rate)
				require.NoError(t, err)
				require.True(t, updated)
				r.available(5)
			}
			created, err := r.TrySetRate(t.Context(), atMost(1, time.Second))
			require.NoError(t, err)
			require.False(t, created)
			deleted, err := r.Delete(t.Context())
			require.NoError(t, err)
			require.True(t, deleted)
		}
	}
	for _, name := range []string{"a}b", "a{b", "a{}b", "{}x", "a}b{c}"} {
		for op, err := range everyOperation(t.Context(), redissonlimiter.New(r.e, name)) {
			require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, "%s of %s", op, name)
			require.ErrorIs(t, err, keys.ErrSlot, "%s of %s", op, name)
		}
	}
}
