package queue

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestSequencesMarkErrorsAfterWhichTheyGoOn: an element that does not decode, and not
// the error of the context, which is the last element.
func TestSequencesMarkErrorsAfterWhichTheyGoOn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		texts := New[string](e, named(t, raw), WithCodec(codec.Text))
		numbers := New[int](e, texts.Name(), WithCodec(codec.JSON))
		delays := delayedOn(t, e)
		require.NoError(t, raw.Do(t.Context(), raw.B().Zadd().Key(delays.q.of.times).ScoreMember().ScoreMember(1e15, "x").Build()).Error())
		for name, first := range map[string]func(context.Context) error{
			"values":  func(ctx context.Context) error { return redistest.FirstError(numbers.Values(ctx)) },
			"consume": func(ctx context.Context) error { return redistest.FirstError(numbers.Consume(ctx)) },
			"waiting": func(ctx context.Context) error { return redistest.FirstError(delays.Waiting(ctx)) },
		} {
			_, err := texts.Offer(t.Context(), "no number")
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			got := first(ctx)
			require.ErrorIs(t, got, ErrDecode, name)
			require.ErrorIs(t, got, core.ErrNotice, name)
			cancel()
			got = first(ctx)
			require.ErrorIs(t, got, context.Canceled, name)
			require.NotErrorIs(t, got, core.ErrNotice, name)
			_, err = texts.Drain(t.Context())
			require.NoError(t, err)
		}
	})
}
