package topic

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// engineOn returns an engine for texts, on a client that somebody else closes.
var engineOn = enginetest.Texts

var onServers, onReal, miniredisClient, through = redistest.OnServers, redistest.OnReal, redistest.MiniredisClient, redistest.ThroughProxy

// notLingering has readers end with what they read.
func notLingering(c *core.Config) { c.Linger = time.Millisecond }

// unread waits until the client reads nothing: a reader may take a message behind the Close of the last who listens.
func (r *reliableRig) unread() {
	r.t.Helper()
	redistest.Eventually(r.t, func() bool {
		r.r.mu.Lock()
		defer r.r.mu.Unlock()
		return len(r.r.reading) == 0 && len(r.r.servers) == 0
	}, soon, time.Millisecond)
}

// topicOf is a topic of any kind, of texts.
type topicOf struct {
	publish     func(ctx context.Context, v string) (int64, error)
	listen      func(ctx context.Context, opts ...SubscribeOption) (*heardBy, error)
	subscribe   func(ctx context.Context, opts ...SubscribeOption) iter.Seq2[string, error]
	subscribers func(ctx context.Context) (int64, error)
	listeners   func() int
}

// heardBy is a subscription of any kind.
type heardBy struct {
	messages func(ctx context.Context) iter.Seq2[string, error]
	close    func()
}

type maker func(e *locking.Engine, name string, opts ...Option) topicOf

// kinds is every kind. That of patterns is published to by a plain one.
var kinds = map[string]maker{
	"plain": func(e *locking.Engine, name string, opts ...Option) topicOf {
		t := New[string](e, name, opts...)
		return topicOf{t.Publish, plainly(t.Listen), t.Subscribe, t.CountSubscribers, t.CountListeners}
	},
	"sharded": func(e *locking.Engine, name string, opts ...Option) topicOf {
		t := NewSharded[string](e, name, opts...)
		return topicOf{t.Publish, plainly(t.Listen), t.Subscribe, t.CountSubscribers, t.CountListeners}
	},
	"pattern": patterned,
}

func plainly(listen func(context.Context, ...SubscribeOption) (*Subscription[string], error)) func(context.Context, ...SubscribeOption) (*heardBy, error) {
	return func(ctx context.Context, opts ...SubscribeOption) (*heardBy, error) {
		s, err := listen(ctx, opts...)
		if err != nil {
			return nil, err
		}
		return &heardBy{s.Messages, s.Close}, nil
	}
}

var errWrongChannel = errors.New("it came by another channel")

func patterned(e *locking.Engine, name string, opts ...Option) topicOf {
	pattern := name
	if name != "" {
		pattern += "*"
	}
	plain, t := New[string](e, name, opts...), NewPattern[string](e, pattern, opts...)
	values := func(all iter.Seq2[Message[string], error]) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for m, err := range all {
				if err == nil && m.Channel != name {
					err = errWrongChannel
				}
				if !yield(m.Value, err) {
					return
				}
			}
		}
	}
	return topicOf{
		publish: plain.Publish,
		listen: func(ctx context.Context, opts ...SubscribeOption) (*heardBy, error) {
			s, err := t.Listen(ctx, opts...)
			if err != nil {
				return nil, err
			}
			return &heardBy{func(ctx context.Context) iter.Seq2[string, error] { return values(s.Messages(ctx)) }, s.Close}, nil
		},
		subscribe: func(ctx context.Context, opts ...SubscribeOption) iter.Seq2[string, error] {
			return values(t.Subscribe(ctx, opts...))
		},
		listeners: t.CountListeners,
	}
}

func onKinds(t *testing.T, test func(t *testing.T, of maker)) {
	t.Helper()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

func (o topicOf) listening(t testing.TB, opts ...SubscribeOption) *heardBy {
	t.Helper()
	s, err := redistest.Patient(func() (*heardBy, error) { return o.listen(t.Context(), opts...) })
	require.NoError(t, err)
	t.Cleanup(s.close)
	return s
}

func (o topicOf) publishes(t testing.TB, v ...string) {
	t.Helper()
	for _, v := range v {
		n, err := o.publish(t.Context(), v)
		require.NoError(t, err)
		require.EqualValues(t, 1, n, v)
	}
}

// heard is what a loop was told.
type heard struct {
	text string
	err  error
}

// next reads n.
func (s *heardBy) next(t testing.TB, n int) (all []heard) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for v, err := range s.messages(ctx) {
		require.NotErrorIs(t, err, context.DeadlineExceeded, "after %d of %d", len(all), n)
		if all = append(all, heard{v, err}); len(all) == n {
			break
		}
	}
	return all
}

// away reads that the connection was lost.
func (s *heardBy) away(t testing.TB) {
	t.Helper()
	err := s.next(t, 1)[0].err
	require.ErrorIs(t, err, ErrDisconnected)
	require.ErrorIs(t, err, core.ErrNotice)
}

// back reads that the subscription is back.
func (s *heardBy) back(t testing.TB) {
	t.Helper()
	err := s.next(t, 1)[0].err
	require.ErrorIs(t, err, ErrReconnected)
	require.ErrorIs(t, err, ErrInterrupted)
	require.ErrorIs(t, err, core.ErrNotice)
}

// interrupted reads both.
func (s *heardBy) interrupted(t testing.TB) {
	t.Helper()
	s.away(t)
	s.back(t)
}

// hears reads messages, and nothing but these.
func (s *heardBy) hears(t testing.TB, want ...string) {
	t.Helper()
	for i, h := range s.next(t, len(want)) {
		require.NoError(t, h.err)
		require.Equal(t, want[i], h.text)
	}
}
