package rmap

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// refusing is a server that may be made to refuse what writes, and a client of it
// that gives up soon.
type refusing struct {
	t     *testing.T
	admin rueidis.Client
	e     *engine.Engine
	log   logged
}

// refusals are the ways in which a server refuses for a while.
var refusals = map[string]struct{ refuse, allow string }{
	"OOM":        {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
	"MISCONF":    {"CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET stop-writes-on-bgsave-error no"},
	"NOREPLICAS": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
	"READONLY":   {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	"NOPERM":     {"ACL SETUSER orders -@all", "ACL SETUSER orders +@all"},
}

func newRefusing(t *testing.T) *refusing {
	t.Helper()
	server := redistest.Start(t,
		redistest.Config("enable-protected-configs", "yes"), redistest.Config("save", "3600", "1000000"),
		redistest.Config("stop-writes-on-bgsave-error", "no"))
	r := &refusing{t: t, admin: server.Client(t)}
	r.do("ACL SETUSER orders on >password ~* &* +@all")
	r.do("CONFIG SET dir /proc")
	redistest.Eventually(t, func() bool { // it cannot save
		_ = r.admin.Do(context.Background(), r.admin.B().Bgsave().Build()).Error()
		info, err := r.admin.Do(context.Background(), r.admin.B().Info().Section("persistence").Build()).ToString()
		return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
	}, soon, 5*time.Millisecond)
	user := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })
	r.e = engineOn(t, user, func(c *engine.Config) {
		c.WatchdogTimeout = 1500 * time.Millisecond
		c.Logger = slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	return r
}

func (r *refusing) do(command string) {
	r.t.Helper()
	require.NoError(r.t, r.admin.Do(context.Background(), r.admin.B().Arbitrary(strings.Fields(command)...).Build()).Error())
}

// TestADrainOutlastsAServerThatRefuses to forget what the store has, or has refused:
// that is not lost, and nothing else is held up when it is over.
func TestADrainOutlastsAServerThatRefuses(t *testing.T) {
	t.Parallel()
	for how, of := range refusals {
		for what, bad := range map[string]bool{"what was taken": false, "what was put aside": true} {
			if how == "OOM" && !bad {
				continue // it takes no memory
			}
			t.Run(how+", "+what, func(t *testing.T) {
				t.Parallel()
				r, s, calls := newRefusing(t), newBehindMap(), atomic.Int64{}
				m := New[string, int](r.e, "m", WithCodec(codec.Text))
				w := NewWriting(m, func(ctx context.Context, changes []Change[string, int]) error {
					if calls.Add(1) == 1 {
						r.do(of.refuse)
					}
					if bad && slices.ContainsFunc(changes, func(c Change[string, int]) bool { return c.Key == "b" }) {
						return errors.New("bad")
					}
					return s.write(ctx, changes)
				}, WithBehind(10), WithWriteDelay(time.Millisecond), WithMaxAttempts(1))
				require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "b": 2}))
				redistest.Eventually(t, func() bool { return strings.Contains(r.log.all(), "writing behind") }, soon, time.Millisecond)
				r.do(of.allow)
				require.NoError(t, w.Put(t.Context(), "a", 3))
				require.NoError(t, w.Close(t.Context()))
				want := map[string]int{"a": 3, "b": 2}
				require.Equal(t, want, contents(t, m))
				dead, err := r.admin.Do(t.Context(), r.admin.B().Xrange().Key(keys.MapDead("m")).Start("-").End("+").Build()).AsXRange()
				require.NoError(t, err)
				if bad {
					delete(want, "b")
					require.Len(t, dead, 1)
					require.Equal(t, "b", dead[0].FieldValues["k"])
				} else {
					require.Empty(t, dead)
				}
				require.Equal(t, want, s.now())
			})
		}
	}
}
