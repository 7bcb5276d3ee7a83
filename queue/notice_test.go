package queue

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// TestSequencesMarkErrorsAfterWhichTheyGoOn: an element that does not decode, and not
// the error of the context, which is the last element.
func TestSequencesMarkErrorsAfterWhichTheyGoOn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		texts := New[string](e, named(t, raw), WithCodec(codec.Text))
		numbers := New[int](e, texts.Name(), WithCodec(codec.JSON))
		stream := NewStream[string, string](e, named(t, raw), WithCodec(codec.Text))
		wrong := NewStream[string, int](e, stream.Name(), WithCodec(codec.JSON))
		_, err := stream.Add(t.Context(), map[string]string{"a": "no number"})
		require.NoError(t, err)
		_, err = wrong.Group("all").Create(t.Context(), FromStart)
		require.NoError(t, err)
		delays := delayedOn(t, e)
		require.NoError(t, raw.Do(t.Context(), raw.B().Zadd().Key(delays.q.of.times).ScoreMember().ScoreMember(1e15, "x").Build()).Error())
		for name, errs := range map[string]func(context.Context) []error{
			"values":  func(ctx context.Context) []error { return errorsOf(numbers.Values(ctx)) },
			"consume": func(ctx context.Context) []error { return errorsOf(numbers.Consume(ctx)) },
			"range":   func(ctx context.Context) []error { return errorsOf(wrong.Range(ctx, "", "")) },
			"group":   func(ctx context.Context) []error { return errorsOf(wrong.Group("all").Consume(ctx, "one")) },
			"waiting": func(ctx context.Context) []error { return errorsOf(delays.Waiting(ctx)) },
		} {
			_, err := texts.Offer(t.Context(), "no number")
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			got := errs(ctx)
			require.Len(t, got, 1, name)
			require.ErrorIs(t, got[0], ErrDecode, name)
			require.ErrorIs(t, got[0], core.ErrNotice, name)
			cancel()
			got = errs(ctx)
			require.Len(t, got, 1, name)
			require.ErrorIs(t, got[0], context.Canceled, name)
			require.NotErrorIs(t, got[0], core.ErrNotice, name)
			_, err = texts.Drain(t.Context())
			require.NoError(t, err)
		}
	})
}

// errorsOf returns the first error of a sequence.
func errorsOf[T any](all func(yield func(T, error) bool)) (errs []error) {
	for _, err := range all {
		if err != nil {
			return append(errs, err)
		}
	}
	return errs
}
