package rmap

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// refusing is a server that may be made to refuse what writes, and a client of it
// that gives up soon.
type refusing struct {
	t     *testing.T
	admin rueidis.Client
	e     *locking.Engine
	log   enginetest.Log

	core.Observer
	mu    sync.Mutex
	began bool
	then  func() // when something has been refused for as long as it is sent again
}

// refusals are the ways in which a server refuses for a while.
var refusals = map[string]struct{ refuse, allow string }{
	"OOM":        {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
	"MISCONF":    {"CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET stop-writes-on-bgsave-error no"},
	"NOREPLICAS": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
	"READONLY":   {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	"NOPERM":     {"ACL SETUSER orders -@all", "ACL SETUSER orders +@all"},
}

func newRefusing(t *testing.T, opts ...redistest.Option) *refusing {
	t.Helper()
	server := redistest.Start(t, append(opts,
		redistest.Config("enable-protected-configs", "yes"), redistest.Config("save", "3600", "1000000"),
		redistest.Config("stop-writes-on-bgsave-error", "no"))...)
	r := &refusing{t: t, admin: server.Client(t)}
	r.do("ACL SETUSER orders on >password ~* &* +@all")
	r.do("CONFIG SET dir /proc")
	redistest.Eventually(t, func() bool { // it cannot save
		_ = r.admin.Do(context.Background(), r.admin.B().Bgsave().Build()).Error()
		info, err := r.admin.Do(context.Background(), r.admin.B().Info().Section("persistence").Build()).ToString()
		return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
	}, soon, 5*time.Millisecond)
	user := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })
	r.e = engineOn(t, user, func(c *core.Config) {
		c.WatchdogTimeout, c.Observer = redistest.Scaled(9*time.Second), r // a send has a sixth of that: a machine that stands still for less loses no reply
		c.Logger = slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	return r
}

func (r *refusing) do(command string) {
	r.t.Helper()
	require.NoError(r.t, r.admin.Do(context.Background(), r.admin.B().Arbitrary(strings.Fields(command)...).Build()).Error())
}

// refuse has the server refuse, until something was given up for that.
func (r *refusing) refuse(refuse, allow string) {
	r.t.Helper()
	r.do(refuse)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began, r.then = true, func() { r.do(allow) }
}

func (r *refusing) ScriptRan(_ context.Context, _ string, _ time.Duration, _ int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.then != nil {
		r.then()
		r.then = nil
	}
}

// over reports whether it has given up, and the server refuses no more.
func (r *refusing) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began && r.then == nil
}

func (*refusing) WaitStarted(context.Context, string, string)                     {}
func (*refusing) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (*refusing) Acquired(context.Context, string, string, bool)                  {}
func (*refusing) Released(context.Context, string, string, bool)                  {}
func (*refusing) Lost(string, string, error)                                      {}
func (*refusing) Renewed(int, time.Duration, error)                               {}

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
						r.refuse(of.refuse, of.allow)
					}
					if bad && slices.ContainsFunc(changes, func(c Change[string, int]) bool { return c.Key == "b" }) {
						return Discard(errors.New("bad"))
					}
					return s.write(ctx, changes)
				}, WithBehind(10), WithWriteDelay(time.Millisecond))
				require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "b": 2}))
				redistest.Eventually(t, func() bool { return r.over() }, soon, time.Millisecond)
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

// TestALoadOutlastsAServerThatRefuses to take what was loaded: it is not loaded again.
func TestALoadOutlastsAServerThatRefuses(t *testing.T) {
	t.Parallel()
	for how, of := range refusals {
		if how == "NOPERM" {
			continue // which is no passing reason
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for kind, on := range loadKinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					r := newRefusing(t)
					calls := map[string]int{}
					l := NewLoading(on(r.e, "m"), func(ctx context.Context, k string) (int, bool, error) {
						calls[k]++
						r.refuse(of.refuse, of.allow)
						return quick(ctx, k)
					})
					for k, want := range map[string]bool{"5": true, "none": false} {
						if how == "OOM" && !want {
							continue // it takes no memory
						}
						v, there, err := l.Get(t.Context(), k)
						require.NoError(t, err)
						require.Equal(t, want, there)
						require.Equal(t, want, v == 5)
						require.Equal(t, 1, calls[k])
					}
					nothingIsLeft(t, r.admin, "m")
				})
			}
		})
	}
}

// TestAWriteThatIsRefusedChangesNothing, neither in the map nor in the store.
func TestAWriteThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	for how, of := range refusals {
		for way, opts := range ways {
			t.Run(how+", "+way, func(t *testing.T) {
				t.Parallel()
				r := newRefusing(t)
				var ws []*Writing[string, int]
				var stores []*behindMap
				for kind, on := range loadKinds {
					m, s := on(r.e, "m-"+kind), newBehindMap()
					if way == "behind" && !m.inside().whole {
						continue
					}
					w := NewWriting(m, s.write, opts...)
					require.NoError(t, w.Put(t.Context(), "k", 1))
					redistest.Eventually(t, func() bool { return len(s.now()) == 1 }, soon, time.Millisecond)
					ws, stores = append(ws, w), append(stores, s)
				}
				r.do(of.refuse)
				var all sync.WaitGroup
				for _, w := range ws {
					for name, op := range changesOf {
						if way == "through" && name != "put" {
							continue // which would wait for the same lock, one behind the other
						}
						all.Go(func() {
							err := op(t.Context(), w)
							assert.ErrorContains(t, err, how, name)
							assert.NotErrorIs(t, err, ErrOutcomeUnknown, name)
						})
					}
				}
				all.Wait()
				r.do(of.allow)
				for i, w := range ws {
					require.Equal(t, map[string]int{"k": 1}, contents(t, w), w.Name())
					require.NoError(t, w.Close(t.Context()))
					require.Equal(t, map[string]int{"k": 1}, stores[i].now(), w.Name())
				}
			})
		}
	}
}

// TestADrainThatIsRefusedForGoodSaysSo to the log, and to whoever closes.
func TestADrainThatIsRefusedForGoodSaysSo(t *testing.T) {
	t.Parallel()
	for what, foreign := range map[string]string{
		"WRONGTYPE": "SET " + keys.MapDrain("m") + " x", "another kind": "HSET " + keys.MapDrain("m") + " mode read",
		"WRONGTYPE Operation": "SET " + keys.MapDead("m") + " x", "WRONGTYPE Operation against": "SET " + keys.MapDeadLast("m") + " x",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, s := newRefusing(t), newBehindMap()
			s.fail(Discard(errors.New("down")))
			r.do(foreign)
			w := NewWriting(New[string, int](r.e, "m"), s.write, ways["behind"]...)
			require.NoError(t, w.Put(t.Context(), "k", 1))
			ctx, cancel := context.WithTimeout(t.Context(), soon/2)
			defer cancel()
			err := w.Close(ctx)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, what)
			require.ErrorContains(t, err, "1 changes are not written")
			require.Contains(t, r.log.String(), "cannot be taken")
			idle(t, w) // or it puts the change aside that it was told to discard
			s.fail(nil)
			r.do("DEL " + strings.Fields(foreign)[1])
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, map[string]int{"k": 1}, s.now())
		})
	}
}
