package reliable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// operations is every operation of a handle.
var operations = map[string]func(ctx context.Context, q *Queue[string]) error{
	"add":     func(ctx context.Context, q *Queue[string]) error { _, err := q.Add(ctx, "v"); return err },
	"add all": func(ctx context.Context, q *Queue[string]) error { _, err := q.AddAll(ctx, []string{"v"}); return err },
	"receive": func(ctx context.Context, q *Queue[string]) error { _, err := q.Receive(ctx); return err },
	"poll":    func(ctx context.Context, q *Queue[string]) error { _, err := q.Poll(ctx); return err },
	"consume": func(ctx context.Context, q *Queue[string]) (last error) {
		for _, last = range q.Consume(ctx) {
		}
		return last
	},
	"ack":          func(ctx context.Context, q *Queue[string]) error { return lost(q.Ack(ctx, "1:1:1:1")) },
	"nack":         func(ctx context.Context, q *Queue[string]) error { return lost(q.Nack(ctx, "1:1:1:1", nil)) },
	"release":      func(ctx context.Context, q *Queue[string]) error { return lost(q.Release(ctx, "1:1:1:1")) },
	"set progress": func(ctx context.Context, q *Queue[string]) error { return lost(q.SetProgress(ctx, "1:1:1:1", 1)) },
	"receive n":    func(ctx context.Context, q *Queue[string]) error { _, err := q.ReceiveN(ctx, 3); return err },
	"serve": func(ctx context.Context, q *Queue[string]) error {
		return q.Serve(ctx, func(context.Context, *Message[string]) error { return nil })
	},
	"stats":       func(ctx context.Context, q *Queue[string]) error { _, err := q.Stats(ctx); return err },
	"find":        func(ctx context.Context, q *Queue[string]) error { _, err := q.Find(ctx, 1); return notFound(err) },
	"remove":      func(ctx context.Context, q *Queue[string]) error { return notFound(q.Remove(ctx, 1)) },
	"cancel":      func(ctx context.Context, q *Queue[string]) error { return notFound(q.Cancel(ctx, 1)) },
	"redrive":     func(ctx context.Context, q *Queue[string]) error { _, err := q.Redrive(ctx, 1); return err },
	"purge":       func(ctx context.Context, q *Queue[string]) error { _, err := q.Purge(ctx); return err },
	"pause":       func(ctx context.Context, q *Queue[string]) error { return q.Pause(ctx, time.Second) },
	"resume":      func(ctx context.Context, q *Queue[string]) error { return q.Resume(ctx) },
	"result":      func(ctx context.Context, q *Queue[string]) error { _, err := q.Result(ctx, 1); return notFound(err) },
	"await":       func(ctx context.Context, q *Queue[string]) error { _, err := q.Await(ctx, 1); return notFound(err) },
	"redrive all": func(ctx context.Context, q *Queue[string]) error { _, err := q.RedriveAll(ctx); return err },
	"reschedule": func(ctx context.Context, q *Queue[string]) error {
		return notFound(q.Reschedule(ctx, 1, WithDelay(time.Second)))
	},
	"run now":      func(ctx context.Context, q *Queue[string]) error { return notFound(q.RunNow(ctx, 1)) },
	"set priority": func(ctx context.Context, q *Queue[string]) error { return notFound(q.SetPriority(ctx, 1, 3)) },
	"terms":        func(ctx context.Context, q *Queue[string]) error { _, err := q.Terms(ctx); return err },
	"set terms":    func(ctx context.Context, q *Queue[string]) error { return q.SetTerms(ctx) },
	"delete":       func(ctx context.Context, q *Queue[string]) error { _, err := q.Delete(ctx); return err },
	"messages": func(ctx context.Context, q *Queue[string]) error {
		for _, err := range q.Messages(ctx, Ready) {
			return err
		}
		return nil
	},
}

// lost is err, if it is another.
func lost(err error) error {
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// notFound is err, if it is another.
func notFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	for op, do := range operations {
		var none context.Context
		require.ErrorIs(t, do(none, r.Queue), ErrInvalidArgument, op)
		require.ErrorIs(t, do(t.Context(), New[string](r.e, "")), ErrInvalidArgument, op)
		for _, opt := range []Option{
			nil, WithCodec(codec.Family{}), WithValueCodec[string](nil), WithValueCodec(codec.For[int](codec.JSON)),
			WithCapacity(0), WithCapacity(-1), WithMaxBody(0), WithLease(0), WithLease(-1), WithLease(core.LongestLease + 1),
			WithMaxAttempts(0), WithDeadLimit(0, time.Hour), WithDeadLimit(1, 0), WithKeepDone(0), WithGroupInFlight(0),
		} {
			require.ErrorIs(t, do(t.Context(), New[string](r.e, r.name, opt)), ErrInvalidArgument, op)
		}
	}
	long := strings.Repeat("k", longestKey+1)
	for _, opt := range []AddOption{
		nil, WithDelay(-1), WithDelay(core.LongestLease + 1), WithPriority(-1), WithPriority(256),
		WithAt(time.Now().Add(200 * 365 * 24 * time.Hour)),
		WithGroup(""), WithGroup("a\x00b"), WithGroup(long), WithUnique(""), WithUnique("\x00"), WithUnique(long),
		WithDedup("", time.Second), WithDedup(long, time.Second), WithDedup("k", 0), WithDedup("k", -1),
		WithExpiry(0), WithTimeout(0), WithHeader("k", strings.Repeat("v", longestHeader+1)),
	} {
		_, err := r.Add(t.Context(), "v", opt)
		require.ErrorIs(t, err, ErrInvalidArgument, "%T", opt)
	}
	_, err := r.AddAll(t.Context(), []string{"a", "b"}, WithUnique("u"))
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.with(WithMaxBody(10)).Add(t.Context(), strings.Repeat("v", 11))
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.Add(t.Context(), "\xff secret")
	require.ErrorIs(t, err, ErrInvalidArgument, "no text")
	require.NotContains(t, err.Error(), "secret")
	n, err := asInt(r.do(append([]string{"EXISTS"}, r.of.parts...)...))
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for op, do := range operations {
		err := do(ctx, r.Queue)
		require.ErrorIs(t, err, context.Canceled, op)
		require.ErrorIs(t, err, assert.AnError, op)
	}
	n, err := asInt(r.do(append([]string{"EXISTS"}, r.of.parts...)...))
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAPlainQueueOfTheSameNameIsAnother(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	r.do("RPUSH", r.name, "plain")
	r.adds("a")
	r.acks("a")
	r.isEmpty()
	n, err := asInt(r.do("LLEN", r.name))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	r.do("DEL", r.name)
}

func TestAKeyOfAnotherTypeIsAnErrorOfAll(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	r.do("SET", r.part("ready"), "text")
	for _, op := range []string{"add", "add all", "receive", "poll", "consume", "serve", "stats", "messages"} {
		do := operations[op]
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		err := do(ctx, r.Queue)
		cancel()
		require.ErrorContains(t, err, "another type", op)
	}
}

func TestMisuseOfAMessage(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	r.adds("a")
	m := r.gets("a")
	var none context.Context
	require.ErrorIs(t, m.Ack(none), ErrInvalidArgument)
	require.ErrorIs(t, m.Extend(none, time.Second), ErrInvalidArgument)
	require.ErrorIs(t, m.Extend(t.Context(), -1), ErrInvalidArgument)
	require.ErrorIs(t, m.Nack(t.Context(), nil, nil), ErrInvalidArgument)
	require.ErrorIs(t, m.Nack(t.Context(), nil, WithDelay(-1)), ErrInvalidArgument)
	require.ErrorIs(t, m.Release(t.Context(), nil), ErrInvalidArgument)
	require.ErrorIs(t, m.Release(t.Context(), WithDelay(-1)), ErrInvalidArgument)
	require.PanicsWithValue(t, "reliable: cannot create a context from a nil parent", func() { m.Context(none) })
	require.NoError(t, m.Extend(t.Context(), time.Minute))
	require.NoError(t, m.Err())
	require.NoError(t, m.Nack(t.Context(), errors.New(strings.Repeat("ü", longestCause)), WithDelay(0)))
	require.ErrorIs(t, m.Release(t.Context()), ErrSettled)
	require.ErrorIs(t, m.Extend(t.Context(), time.Minute), ErrSettled)
	require.Error(t, m.Context(t.Context()).Err())
	r.acks("a")
	r.leaves()
}

func TestCloseWithWaitersAndMessagesInHand(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	other := r.other()
	other.adds("a")
	m := other.gets("a")
	ctx := m.Context(t.Context())
	waits := make(chan error)
	go func() { _, err := other.Receive(t.Context()); waits <- err }()
	closed := make(chan error)
	go func() { closed <- locking.Close(t.Context(), other.e) }()
	require.ErrorIs(t, <-waits, ErrClosed)
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), ErrClosed)
	require.NoError(t, m.Ack(t.Context())) // which Close has waited for
	require.NoError(t, redistest.Done(t, closed))
	_, err := other.Add(t.Context(), "b")
	require.ErrorIs(t, err, ErrClosed)
	r.leaves()
}
