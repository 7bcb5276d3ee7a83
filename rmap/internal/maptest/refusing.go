package maptest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Refusing is a server that may be made to refuse what writes, and a client of it
// that gives up soon.
type Refusing struct {
	t     *testing.T
	Admin rueidis.Client
	E     *locking.Engine
	Log   enginetest.Log

	core.Observer
	mu    sync.Mutex
	began bool
	then  func() // when something has been refused for as long as it is sent again
}

// Refusals are the ways in which a server refuses for a while.
var Refusals = map[string]struct{ Refuse, Allow string }{
	"OOM":        {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
	"MISCONF":    {"CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET stop-writes-on-bgsave-error no"},
	"NOREPLICAS": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
	"READONLY":   {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	"NOPERM":     {"ACL SETUSER orders -@all", "ACL SETUSER orders +@all"},
}

// NewRefusing starts such a server.
func NewRefusing(t *testing.T, opts ...redistest.Option) *Refusing {
	t.Helper()
	server := redistest.StartUnsaving(t, opts...)
	r := &Refusing{t: t, Admin: server.Client(t)}
	r.Do("ACL SETUSER orders on >password ~* &* +@all")
	user := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })
	r.E = EngineOn(t, user, func(c *core.Config) {
		c.WatchdogTimeout, c.Observer = redistest.Scaled(9*time.Second), r // a send has a sixth of that: a machine that stands still for less loses no reply
		c.Logger = slog.New(slog.NewTextHandler(&r.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	return r
}

// Do sends a command as the administrator.
func (r *Refusing) Do(command string) {
	r.t.Helper()
	require.NoError(r.t, r.Admin.Do(context.Background(), r.Admin.B().Arbitrary(strings.Fields(command)...).Build()).Error())
}

// Refuse has the server refuse, until something was given up for that.
func (r *Refusing) Refuse(refuse, allow string) {
	r.t.Helper()
	r.Do(refuse)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began, r.then = true, func() { r.Do(allow) }
}

func (r *Refusing) ScriptRan(_ context.Context, _ string, _ time.Duration, _ int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.then != nil {
		r.then()
		r.then = nil
	}
}

// Over reports whether it has given up, and the server refuses no more.
func (r *Refusing) Over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began && r.then == nil
}

func (*Refusing) WaitStarted(context.Context, string, string) {}

func (*Refusing) WaitEnded(context.Context, string, string, time.Duration, error) {}

func (*Refusing) Acquired(context.Context, string, string, bool) {}

func (*Refusing) Released(context.Context, string, string, bool) {}

func (*Refusing) Lost(string, string, error) {}

func (*Refusing) Renewed(int, time.Duration, error) {}
