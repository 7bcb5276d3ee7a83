package rwlock

import (
	"context"
	"path"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// methods is every method that sends a script, and what it sends.
// TestEveryScriptIsCalled keeps it complete.
func methods(e *locking.Engine) map[string]func(ctx context.Context, l *Lock) error {
	private, lease := e.IDs.Private(), time.Minute
	reads := func(ctx context.Context, l *Lock) error {
		_, err := l.reader.Acquire(ctx, locking.Try{Owner: private, Lease: lease})
		return err
	}
	return map[string]func(ctx context.Context, l *Lock) error{
		"read_acquire.lua": reads,
		"read_release.lua": func(ctx context.Context, l *Lock) error { _, err := l.reader.Release(ctx, private); return err },
		"write_acquire.lua": func(ctx context.Context, l *Lock) error {
			_, err := l.writer.Acquire(ctx, locking.Try{Owner: private, Lease: lease})
			return err
		},
		"write_release.lua": func(ctx context.Context, l *Lock) error { _, err := l.writer.Release(ctx, private); return err },
		"downgrade.lua": func(ctx context.Context, l *Lock) error {
			_, err := l.writer.ReleaseTo(ctx, private, []locking.Candidate{{Owner: e.IDs.Private(), Lease: lease}})
			return err
		},
		"renew.lua": func(ctx context.Context, l *Lock) error {
			keys, args := readRenewal.Add(nil, nil, l.on.Key(), private, lease)
			_, err := e.Run(ctx, readRenewal.Script, keys, args)
			return err
		},
		"mark.lua": func(ctx context.Context, l *Lock) error {
			keys, args := markRenewal.Add(nil, nil, l.on.Key(), private, lease)
			_, err := e.Run(ctx, markRenewal.Script, keys, args)
			return err
		},
		"force.lua":   func(ctx context.Context, l *Lock) error { _, err := l.on.force(ctx, "read", "0"); return err },
		"inspect.lua": func(ctx context.Context, l *Lock) error { _, err := l.on.inspect(ctx); return err },
		"leases.lua": func(ctx context.Context, l *Lock) error {
			_, err := l.on.leases(ctx, []holder{{private, 1}})
			return err
		},
		"clear.lua": func(ctx context.Context, l *Lock) error {
			if err := reads(ctx, l); err != nil {
				return err
			}
			l.on.clear(ctx)
			return nil
		},
		"withdraw.lua": func(ctx context.Context, l *Lock) error {
			return writer{&l.on, false}.Quit(ctx)
		},
	}
}

// before is what is sent before a script by the same method.
var before = map[string][]string{"clear.lua": {"read_acquire.lua", "inspect.lua"}}

func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	for script, send := range methods(e) {
		for _, name := range []string{"orders", "{u1}:orders", "a{b}c"} {
			t.Run(script+" "+name, func(t *testing.T) {
				require.NoError(t, send(t.Context(), New(e, name+script)))
				calls := r.Take()
				require.Equal(t, append(before[script], script), redistest.ScriptNames(calls))
				for _, c := range calls {
					c.Check(t)
				}
			})
		}
	}
}

func TestEveryScriptIsCalled(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.Recorded(t)
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	var there, called []string
	for _, f := range files {
		there = append(there, path.Base(f.Name()))
	}
	for script := range methods(e) {
		called = append(called, script)
	}
	assert.ElementsMatch(t, there, called, "scripts, and those that the test above calls")
}

func TestAnAcquireThatIsNotReplicatedIsUndone(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t, func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, time.Millisecond })
	l := New(e, "orders")
	for script, p := range map[string]locking.Protocol{"read": l.reader, "write": &l.writer} {
		_, err := p.Acquire(t.Context(), locking.Try{Owner: e.IDs.Private(), Lease: time.Minute})
		require.ErrorIs(t, err, core.ErrNotReplicated)
		require.Equal(t, []string{script + "_acquire.lua", "bury.lua", script + "_release.lua"}, redistest.ScriptNames(r.Take()))
		st, err := l.on.inspect(t.Context())
		require.NoError(t, err)
		require.Empty(t, st.mode)
		r.Take()
	}
}

// Whatever gives back or renews works on a server without memory: how else would
// it get some.
func TestWhatGivesBackOrRenewsWorksOnAFullServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Version(version))
			raw, ctx := server.Client(t), t.Context()
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true, ForceSingleClient: true})
			require.NoError(t, err)
			e, err := locking.New(ctx, client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Owned: true})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, locking.Close(context.Background(), e)) })
			own, to := e.IDs.Private(), e.IDs.Private()
			hold := func(name string, side func(l *Lock) locking.Protocol) *Lock {
				l := New(e, name)
				tried, err := side(l).Acquire(ctx, locking.Try{Owner: own, Lease: time.Minute})
				require.NoError(t, err)
				require.True(t, tried.Free)
				return l
			}
			reads := func(l *Lock) locking.Protocol { return l.reader }
			writes := func(l *Lock) locking.Protocol { return l.writer }
			left, given, renewed, evicted := hold("left", reads), hold("given", reads), hold("renewed", reads), hold("evicted", reads)
			written, writtenBack, turned, forced := hold("written", writes), hold("back", writes), hold("turned", writes), hold("forced", writes)
			_, err = turned.reader.Acquire(ctx, locking.Try{Owner: to, Lease: time.Minute, Queue: true}) // it waits
			require.NoError(t, err)
			require.NoError(t, raw.Do(ctx, raw.B().Del().Key(evicted.on.mark(own)).Build()).Error())
			require.NoError(t, raw.Do(ctx, raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "1").Build()).Error())
			_, err = New(e, "new").reader.Acquire(ctx, locking.Try{Owner: own, Lease: time.Minute})
			require.ErrorContains(t, err, "OOM", "or this test shows nothing")

			for what, release := range map[string]func() (lease.Released, error){
				"read release":    func() (lease.Released, error) { return left.reader.Release(ctx, own) },
				"read give-back":  func() (lease.Released, error) { return given.reader.GiveBack(ctx, own) },
				"write release":   func() (lease.Released, error) { return written.writer.Release(ctx, own) },
				"write give-back": func() (lease.Released, error) { return writtenBack.writer.GiveBack(ctx, own) },
				"downgrade": func() (lease.Released, error) {
					g, err := turned.writer.ReleaseTo(ctx, own, []locking.Candidate{{Owner: to, Lease: time.Minute}})
					return g.Released, err
				},
			} {
				r, err := release()
				require.NoError(t, err, what)
				require.True(t, r.Held, what)
			}
			for _, l := range []*Lock{renewed, evicted} {
				keys, args := readRenewal.Add(nil, nil, l.on.Key(), own, time.Hour)
				answer, err := e.Run(ctx, readRenewal.Script, keys, args)
				require.NoError(t, err)
				stands, err := answer.AsIntSlice()
				require.NoError(t, err)
				require.Equal(t, []int64{1}, stands)
				leases, err := l.on.leases(ctx, []holder{{own, 1}})
				require.NoError(t, err)
				require.Greater(t, leases[0], time.Minute)
			}
			was, err := forced.on.force(ctx, "write", "1")
			require.NoError(t, err)
			require.True(t, was)
		})
	}
}
