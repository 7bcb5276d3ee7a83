package queue

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// engineOn is an engine on a client that somebody else closes.
func engineOn(t testing.TB, c rueidis.Client, change ...func(*core.Config)) *locking.Engine {
	t.Helper()
	cfg := core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second,
		Handovers: 256, HandoverTime: 10 * time.Millisecond, Linger: time.Second,
	}
	for _, f := range change {
		f(&cfg)
	}
	e, err := locking.New(t.Context(), c, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close(context.Background())) })
	return e
}

// miniredisClient is a client of an embedded server of this test.
func miniredisClient(t testing.TB) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// onServers runs a test on every kind of server, at the same time.
func onServers(t *testing.T, test func(t *testing.T, raw rueidis.Client)) {
	t.Helper()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, redistest.Shared(t, redistest.Version(version)).Client(t))
		})
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, miniredisClient(t))
	})
}

// named deletes what a test has under a name.
func named(t testing.TB, raw rueidis.Client) string {
	t.Helper()
	name := redistest.Name(t)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(name).Build()) })
	return name
}

// logged is what a client has logged as a warning.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) to(c *core.Config) {
	c.Logger = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// handClock is a clock that a test sets.
type handClock struct {
	mu    sync.Mutex
	at    time.Time
	moved []func()
}

func (c *handClock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }
func (c *handClock) Moved(f func()) { c.mu.Lock(); defer c.mu.Unlock(); c.moved = append(c.moved, f) }

func (c *handClock) set(at time.Time) {
	c.mu.Lock()
	c.at = at
	moved := slices.Clone(c.moved)
	c.mu.Unlock()
	for _, f := range moved {
		f()
	}
}
