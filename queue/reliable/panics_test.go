package reliable

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// TestAnErrorWithoutAText is what a handler returns by mistake: a nil pointer, as an error.
func TestAnErrorWithoutAText(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		stop := r.serves(func(_ context.Context, m *Message[string]) error {
			if m.Value == "nil" {
				var none *nilError
				return none
			}
			return nil
		}, WithMaxAttempts(1))
		id := r.adds("nil")
		r.adds("a")
		redistest.Eventually(t, func() bool { return r.counter("acked") == 1 && r.counter("dead") == 1 }, soon, time.Millisecond)
		require.NoError(t, stop())
		i, err := r.Find(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "<nil>", i.Cause)
	})
}

type explosive struct{ codec.Codec[string] }

func (explosive) Append(b []byte, v string) ([]byte, error) { return append(b, v...), nil }

func (explosive) Decode(b []byte) (string, error) {
	if string(b) == "bomb" {
		panic("secret")
	}
	return string(b), nil
}

// TestABackoffThatPanics is as if there were none.
func TestABackoffThatPanics(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		q := r.with(WithBackoff(func(int) time.Duration { panic("no idea") }))
		id := q.adds("a")
		stop := q.serves(func(context.Context, *Message[string]) error { return errCodec })
		redistest.Eventually(t, func() bool { return r.counter("retried") == 1 }, soon, time.Millisecond)
		require.NoError(t, stop())
		i, err := r.Find(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, Delayed, i.State)
		q.adds("b")
		require.NoError(t, q.gets("b").Nack(t.Context(), nil))
	})
}

func TestACodecThatPanics(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		q := r.with(WithValueCodec[string](explosive{}), WithMaxAttempts(1))
		q.adds("bomb")
		q.adds("a")
		q.acks("a")
		redistest.Eventually(t, func() bool { return r.counter("dead") == 1 }, soon, time.Millisecond)
		stop := q.serves(func(context.Context, *Message[string]) error { return nil })
		q.adds("bomb")
		q.adds("b")
		redistest.Eventually(t, func() bool { return r.counter("dead") == 2 && r.counter("acked") == 2 }, soon, time.Millisecond)
		require.NoError(t, stop())
	})
}
