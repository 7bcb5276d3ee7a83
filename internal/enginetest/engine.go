// Package enginetest gives the tests of objects an engine.
package enginetest

import (
	"context"
	"hash/fnv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// On returns an engine on a client that somebody else closes. That of every second test sends all calls in batches,
// however few there are.
func On(t testing.TB, c rueidis.Client, change ...func(*core.Config)) *locking.Engine {
	t.Helper()
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.Name()))
	batches := func(c *core.Config) { c.Directly = -int(h.Sum32() % 2) }
	return Plain(t, c, append([]func(*core.Config){batches}, change...)...)
}

// Plain is [On], without batches.
func Plain(t testing.TB, c rueidis.Client, change ...func(*core.Config)) *locking.Engine {
	t.Helper()
	cfg := core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second,
		Handovers: 256, HandoverTime: 10 * time.Millisecond, Linger: time.Second,
	}
	for _, f := range change {
		f(&cfg)
	}
	e, err := locking.New(t.Context(), c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locking.Close(context.Background(), e); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Texts is [Plain], with texts for the values of objects.
func Texts(t testing.TB, c rueidis.Client, change ...func(*core.Config)) *locking.Engine {
	t.Helper()
	texts := func(c *core.Config) { c.Values = codec.Text }
	return Plain(t, c, append([]func(*core.Config){texts}, change...)...)
}

// ShortSends has a send time out after a second.
func ShortSends(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }

// NoLooks has a waiter look only when it is told to: by a message, or because the
// subscription stands again.
func NoLooks(c *core.Config) { c.LongestSleep = time.Hour }

// Recorded returns an engine on a server that knows no script yet, and what it is sent.
func Recorded(t testing.TB, change ...func(*core.Config)) (*locking.Engine, *redistest.ScriptRecorder) {
	t.Helper()
	client, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
	if err != nil {
		t.Fatal(err)
	}
	r := redistest.RecordScripts(t, client)
	owned := func(c *core.Config) { c.WatchdogTimeout, c.Owned = time.Minute, true }
	return On(t, r, append([]func(*core.Config){owned}, change...)...), r
}

// Slow returns an engine whose link carries so many bytes a second, and whose sends time out after a second.
func Slow(t testing.TB, server *redistest.Server, rate int) *locking.Engine {
	t.Helper()
	return Plain(t, server.Client(t, redistest.Slow(rate), func(o *rueidis.ClientOption) { o.ConnWriteTimeout = time.Second }), ShortSends)
}
