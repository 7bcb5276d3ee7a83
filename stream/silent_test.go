package stream

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// silentGroup is a group of a stream behind a proxy, and the same group next to it.
func silentGroup(t *testing.T) (p *redistest.Proxy, g, other *Group[string, string], s *Stream[string, string]) {
	t.Helper()
	server := redistest.Shared(t)
	raw, p := through(t, server)
	name := redistest.Name(t)
	g = New[string, string](engineOn(t, raw), name, WithCodec(codec.Text)).Group("g")
	s = New[string, string](engineOn(t, server.Client(t)), name, WithCodec(codec.Text))
	other = s.Group("g")
	_, err := other.Create(t.Context(), FromStart)
	require.NoError(t, err)
	return p, g, other, s
}

// silence is the longest that a loop may take that is over: a send takes three seconds.
const silence = time.Second

// TestGroupMessagesEndsWithItsContextWhileTheServerIsSilent measures a loop whose first look is not answered.
func TestGroupMessagesEndsWithItsContextWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	p, g, _, _ := silentGroup(t)
	p.BlackHole()
	defer p.Restore()
	redistest.Within(t, silence, func() time.Duration {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		for _, err := range g.Messages(ctx, "one") {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		return time.Since(began)
	})
}

// TestGroupMessagesThatComeAfterTheEndGoBack has the answer to a look arrive when the context of its loop has ended.
func TestGroupMessagesThatComeAfterTheEndGoBack(t *testing.T) {
	t.Parallel()
	p, g, other, s := silentGroup(t)
	looking := p.HoldRequest(redistest.Command("XREADGROUP"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range g.Messages(ctx, "one", WithIdle(time.Hour)) {
			last = err
		}
		ended <- last
	}()
	looking.Await(t)
	_, err := s.Add(t.Context(), map[string]string{"k": "v"})
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, redistest.Done(t, ended), context.Canceled)
	looking.Release() // and the first has it
	redistest.Eventually(t, func() bool {
		for p, err := range other.Pending(t.Context()) {
			return err == nil && p.Idle >= time.Hour
		}
		return false
	}, soon, time.Millisecond, "what came is not given back")
	ctx, cancel = context.WithTimeout(t.Context(), soon)
	defer cancel()
	for m, err := range other.Messages(ctx, "two", WithIdle(time.Hour)) {
		require.NoError(t, err)
		require.Equal(t, map[string]string{"k": "v"}, m.Fields)
		require.NoError(t, m.Ack(ctx))
		return
	}
}

// TestGroupMessagesIsLeftWhileTheServerIsSilent leaves a loop that has read more than it has yielded.
func TestGroupMessagesIsLeftWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	p, g, _, s := silentGroup(t)
	redistest.Within(t, silence, func() (took time.Duration) {
		for range 3 {
			_, err := s.Add(t.Context(), map[string]string{"k": "v"})
			require.NoError(t, err)
		}
		n := 0
		for m, err := range g.Messages(t.Context(), "one", WithBatch(2), WithIdle(time.Hour)) { // the first answer has one
			require.NoError(t, err)
			require.NoError(t, m.Ack(t.Context()))
			if n++; n == 2 {
				p.BlackHole()
				began := time.Now()
				defer func() { took = time.Since(began); p.Restore() }()
				break
			}
		}
		return 0
	})
}

// TestGroupMessagesHearsWhatWentBackBeforeItListened has entries go back when a loop has looked, and does not listen yet.
func TestGroupMessagesHearsWhatWentBackBeforeItListened(t *testing.T) {
	t.Parallel()
	p, g, other, s := silentGroup(t)
	listening := p.HoldRequest(redistest.Command("SUBSCRIBE", "SSUBSCRIBE"))
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	got := make(chan string, 1)
	go func() {
		for m, err := range g.Messages(ctx, "one", WithIdle(time.Hour)) {
			if err == nil {
				got <- m.ID
				_ = m.Ack(ctx)
			}
			return
		}
	}()
	listening.Await(t)
	var ids []string
	for range 3 {
		id, err := s.Add(t.Context(), map[string]string{"k": "v"})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	n := 0
	for m, err := range other.Messages(t.Context(), "two", WithBatch(2), WithIdle(time.Hour)) { // the first answer has one
		require.NoError(t, err)
		require.NoError(t, m.Ack(t.Context()))
		if n++; n == 2 {
			break // and the third goes back
		}
	}
	listening.Release()
	require.Equal(t, ids[2], redistest.Done(t, got))
}
