package topic

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// operations is every operation on a topic that may fail.
var operations = map[string]func(ctx context.Context, o topicOf) error{
	"publish": func(ctx context.Context, o topicOf) error { _, err := o.publish(ctx, "v"); return err },
	"listen":  func(ctx context.Context, o topicOf) error { _, err := o.listen(ctx); return err },
	"subscribe": func(ctx context.Context, o topicOf) (last error) {
		for _, last = range o.subscribe(ctx) {
		}
		return last
	},
	"count subscribers": func(ctx context.Context, o topicOf) error {
		if o.subscribers == nil {
			return codec.ErrInvalidArgument
		}
		_, err := o.subscribers(ctx)
		return err
	},
}

func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := engineOn(t, server.Client(t), func(c *core.Config) { c.MaxValue = 1 << 20 })
	sent := func() int64 {
		return server.CommandCalls(t, "publish", "spublish", "subscribe", "ssubscribe", "psubscribe", "pubsub|numsub", "pubsub|shardnumsub")
	}
	before := sent()
	for kind, of := range kinds {
		for op, do := range operations {
			var none context.Context
			require.ErrorIs(t, do(none, of(e, "orders")), ErrInvalidArgument, "%s %s", kind, op)
			require.ErrorIs(t, do(t.Context(), of(e, "")), ErrInvalidArgument, "%s %s", kind, op)
			require.ErrorIs(t, do(t.Context(), of(e, strings.Repeat("n", 1<<20+1))), ErrInvalidArgument, "%s %s", kind, op)
			require.ErrorIs(t, do(t.Context(), of(e, "orders", nil)), ErrInvalidArgument, "%s %s", kind, op)
			require.ErrorIs(t, do(t.Context(), of(e, "orders", WithCodec(codec.Family{}))), ErrInvalidArgument, "%s %s", kind, op)
			require.ErrorIs(t, do(t.Context(), of(e, "orders", WithValueCodec[string](nil))), ErrInvalidArgument, "%s %s", kind, op)
			require.ErrorIs(t, do(t.Context(), of(e, "orders", WithValueCodec(codec.For[int](codec.JSON)))), ErrInvalidArgument, "%s %s", kind, op)
		}
		for _, opt := range []SubscribeOption{WithBuffer(0), WithBuffer(-1), WithBuffer(math.MaxInt), WithBuffer(math.MinInt), nil} {
			_, err := of(e, "orders").listen(t.Context(), opt)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		_, err := of(e, "orders").publish(t.Context(), strings.Repeat("v", 1<<20+1))
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = of(e, "orders").publish(t.Context(), "\xff secret")
		require.ErrorIs(t, err, ErrInvalidArgument, "no text")
		require.NotContains(t, err.Error(), "secret")
	}
	require.Equal(t, before, sent())
}

func TestANilContextOfALoop(t *testing.T) {
	t.Parallel()
	s := kinds["plain"](engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t)).listening(t)
	n := 0
	for _, err := range s.messages(nil) {
		require.ErrorIs(t, err, ErrInvalidArgument)
		n++
	}
	require.Equal(t, 1, n)
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	onKinds(t, func(t *testing.T, of maker) {
		o := of(engineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
		for op, do := range operations {
			if op == "count subscribers" && o.subscribers == nil {
				continue
			}
			err := do(ctx, o)
			require.ErrorIs(t, err, context.Canceled, op)
			require.ErrorIs(t, err, assert.AnError, op)
		}
		require.Zero(t, o.listeners())
	})
}

// TestNamesAndMessagesOfAnyKind are one key each, so that a cluster takes them, too.
func TestNamesAndMessagesOfAnyKind(t *testing.T) {
	t.Parallel()
	for kind, of := range kinds {
		for what, name := range map[string]string{
			"braces": "{u1}:orders", "empty braces": "{}orders", "one brace": "a}b", "spaces": " a b\r\n", "zero": "a\x00b", "unicode": "größe🙂",
			"long": strings.Repeat("n", 64<<10), "no text": "\xff\xfe",
		} {
			t.Run(kind+" "+what, func(t *testing.T) {
				t.Parallel()
				if kind != "pattern" {
					name = redistest.Name(t) + name
				}
				o := of(engineOn(t, redistest.Shared(t).Client(t)), name)
				s := o.listening(t)
				o.publishes(t, "", "\x00\r\n", strings.Repeat("v", 1<<20))
				s.hears(t, "", "\x00\r\n", strings.Repeat("v", 1<<20))
			})
		}
	}
}
