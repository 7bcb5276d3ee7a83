package stream

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestSequencesMarkErrorsAfterWhichTheyGoOn: an entry that does not decode, and not
// the error of the context, which is the last.
func TestSequencesMarkErrorsAfterWhichTheyGoOn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		wrong := New[string, int](s.q.h.e, s.Name(), WithCodec(codec.JSON))
		add(t, s, "no number")
		made(t, s)
		for name, first := range map[string]func(context.Context) error{
			"range":     func(ctx context.Context) error { return redistest.FirstError(wrong.Range(ctx, "", "")) },
			"reverse":   func(ctx context.Context) error { return redistest.FirstError(wrong.Reverse(ctx, "", "")) },
			"read from": func(ctx context.Context) error { return redistest.FirstError(wrong.ReadFrom(ctx, "")) },
			"consume":   func(ctx context.Context) error { return redistest.FirstError(wrong.Group("g").Consume(ctx, "one")) },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			got := first(ctx)
			require.ErrorIs(t, got, ErrDecode, name)
			require.ErrorIs(t, got, core.ErrNotice, name)
			cancel()
			got = first(ctx)
			require.ErrorIs(t, got, context.Canceled, name)
			require.NotErrorIs(t, got, core.ErrNotice, name)
		}
	})
}
