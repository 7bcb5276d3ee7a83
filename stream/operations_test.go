package stream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// operations is every operation. Those that read find something there.
func operations(s *Stream[string, string]) []func(ctx context.Context) error {
	g := s.Group("g")
	return []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := s.Add(ctx, map[string]string{"a": "1"}); return err },
		func(ctx context.Context) error { _, err := g.Create(ctx, FromStart); return err },
		func(ctx context.Context) error { return consumed(s.Range(ctx, "", "")) },
		func(ctx context.Context) error { return consumed(s.Reverse(ctx, "", "")) },
		func(ctx context.Context) error { return consumed(g.Consume(ctx, "c")) },
		func(ctx context.Context) error { return waitsAWhile(ctx, g) },
		func(ctx context.Context) error {
			for _, err := range g.Pending(ctx) {
				return err
			}
			return nil
		},
		func(ctx context.Context) error { _, err := g.Ack(ctx, "1-1"); return err },
		func(ctx context.Context) error { _, err := s.Remove(ctx, "1-1"); return err },
		func(ctx context.Context) error { _, err := s.Trim(ctx, 0); return err },
		func(ctx context.Context) error { _, err := s.TrimBefore(ctx, "5"); return err },
		func(ctx context.Context) error { _, err := s.Len(ctx); return err },
		func(ctx context.Context) error { _, err := s.Exists(ctx); return err },
		func(ctx context.Context) error { _, err := s.Expire(ctx, time.Hour); return err },
		func(ctx context.Context) error { _, err := s.Persist(ctx); return err },
		func(ctx context.Context) error { _, err := s.Remaining(ctx); return err },
		func(ctx context.Context) error { _, err := s.ExpireAt(ctx, time.Now().Add(time.Hour)); return err },
		func(ctx context.Context) error { _, err := s.SizeInMemory(ctx); return err },
		func(ctx context.Context) error { _, err := s.Info(ctx); return err },
		func(ctx context.Context) error { _, err := s.Groups(ctx); return err },
		func(ctx context.Context) error { _, err := g.Lag(ctx); return err },
		func(ctx context.Context) error { _, err := g.Consumers(ctx); return err },
		func(ctx context.Context) error { _, err := g.Destroy(ctx); return err },
		func(ctx context.Context) error { _, err := s.Delete(ctx); return err },
	}
}

// waitsAWhile is a consumer that has come for nothing.
func waitsAWhile(ctx context.Context, g *Group[string, string]) error {
	if ctx == nil || ctx.Err() != nil {
		return consumed(g.Consume(ctx, "d"))
	}
	waiting, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := consumed(g.Consume(waiting, "d")); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// TestStreamRefusesWhatCannotBeUsed, and nothing is sent.
func TestStreamRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	e := engineOn(t, miniredisClient(t))
	for _, c := range []struct {
		name string
		opts []Option
	}{
		{"", nil},
		{"s", []Option{nil}},
		{"s", []Option{WithCodec(codec.Family{})}},
		{"s", []Option{WithCodecs(codec.Family{}, codec.JSON)}},
		{"s", []Option{WithValueCodec(codec.For[int](codec.Text))}},
		{"s", []Option{WithFieldCodec(codec.KeyOf[int](codec.Text))}},
		{"s", []Option{WithFieldCodec[string](nil)}},
	} {
		for i, op := range operations(New[string, string](e, c.name, c.opts...)) {
			require.ErrorIs(t, op(t.Context()), ErrInvalidArgument, i)
		}
	}
	all := operations(New[string, string](e, "s"))
	for i, op := range all {
		require.ErrorIs(t, op(nil), ErrInvalidArgument, i)
		ended, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("because")
		cancel(cause)
		require.ErrorIs(t, op(ended), context.Canceled, i)
		require.ErrorIs(t, op(ended), cause, i)
	}
	require.NoError(t, locking.Close(t.Context(), e))
	for i, op := range all {
		require.ErrorIs(t, op(t.Context()), ErrClosed, i)
	}
}

// TestStreamOfAnyName does all that streams do.
func TestStreamOfAnyName(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		e := engineOn(t, server.Client(t))
		base := redistest.Name(t)
		for _, name := range []string{"{" + base + "}:q", base + "{x}", base + "}{", base + "\x00\r\n ", base + strings.Repeat("n", 64<<10)} {
			for i, op := range operations(New[string, string](e, name, WithCodec(codec.Text))) {
				require.NoError(t, op(within(t)), i)
			}
		}
	})
}

// TestStreamAsAnObject is copied, renamed where nothing is in the way, expires at a time, and takes memory.
func TestStreamAsAnObject(t *testing.T) {
	t.Parallel()
	enginetest.AsAnObject(t, func(ctx context.Context, e *locking.Engine) map[string]func(name string) (enginetest.Whole, func(vs ...string) error) {
		return map[string]func(name string) (enginetest.Whole, func(vs ...string) error){
			"stream": func(name string) (enginetest.Whole, func(vs ...string) error) {
				s := New[string, string](e, name, WithCodec(codec.Text))
				return s, func(vs ...string) (err error) {
					for _, v := range vs {
						_, err = s.Add(ctx, map[string]string{"k": v})
					}
					return err
				}
			},
		}
	})
}

// TestStreamWalkAnswersAreBoundedByBytes, and no entry is missing or twice there.
func TestStreamWalkAnswersAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	value := func(e Entry[string, string]) string { return e.Fields["v"] }
	enginetest.AnswersAreBounded(t, map[string]func(e *locking.Engine, name string) enginetest.Weighty{
		"stream": func(e *locking.Engine, name string) enginetest.Weighty {
			s := New[string, string](e, name, WithCodec(codec.Text))
			return enginetest.Weighty{
				Fill: func(ctx context.Context, v string) error { _, err := s.Add(ctx, map[string]string{"v": v}); return err },
				Ways: map[string]func(ctx context.Context) ([]string, error){
					"range": func(ctx context.Context) ([]string, error) { return redistest.Yielded(s.Range(ctx, "", ""), value) },
				},
			}
		},
	})
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	e := engineOn(t, user.Client(t))
	for i, op := range operations(New[string, string](e, "orders", WithCodec(codec.Text))) {
		require.NoError(t, op(within(t)), i)
	}
	s := New[string, string](e, "orders:5", WithCodec(codec.Text))
	id, err := s.Add(t.Context(), map[string]string{"v": "a"})
	require.NoError(t, err)
	require.NoError(t, s.SetID(t.Context(), id))
	_, err = s.Info(t.Context())
	require.NoError(t, err)
	_, err = s.Group("g").Create(t.Context(), FromStart)
	require.NoError(t, err)
	for m, err := range s.Group("g").Messages(t.Context(), "c") {
		require.NoError(t, err)
		require.NoError(t, m.Bury(t.Context(), nil))
		break
	}
	_, err = s.Group("g").Lag(t.Context())
	require.NoError(t, err)
	_, err = s.Group("g").Redrive(t.Context())
	require.NoError(t, err)
	_, err = s.Group("g").PurgeDead(t.Context())
	require.NoError(t, err)
	copied, err := s.Copy(t.Context(), "orders:6")
	require.NoError(t, err)
	require.True(t, copied)
	_, err = s.Rename(t.Context(), "orders:3")
	require.NoError(t, err)
	user.NothingDenied(t)
}
