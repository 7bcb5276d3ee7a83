package lock

import (
	"context"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// right checks one call, and that scripts which take pairs get them.
func right(t *testing.T, c redistest.ScriptCall) {
	t.Helper()
	c.Check(t)
	if slices.Contains(c.Header.Args, "2i") {
		assert.Len(t, c.Args, 2*len(c.Keys), "%s takes pairs", c.Script)
	}
}

// methods is every method of the protocol that sends a script, and the script
// that it sends. TestEveryScriptIsCalled keeps it complete.
func methods(e *locking.Engine) map[string]func(ctx context.Context, p *protocol) error {
	private, shared := e.IDs.Private(), e.IDs.Exported()
	token, _ := fence.New("lock", 7)
	const request, lease = "0123456789abcdef0123456789abcdef", time.Minute
	return map[string]func(ctx context.Context, p *protocol) error{
		"acquire.lua": func(ctx context.Context, p *protocol) error {
			_, err := p.Acquire(ctx, locking.Try{Owner: private, Lease: lease})
			return err
		},
		"acquire_moving.lua": func(ctx context.Context, p *protocol) error {
			_, err := p.acquireMoving(ctx, private, lease)
			return err
		},
		"acquire_fenced.lua": func(ctx context.Context, p *protocol) error {
			_, err := newFencedProtocol(p.e, p.name).Acquire(ctx, locking.Try{Owner: private, Lease: lease})
			return err
		},
		"reserve.lua": func(ctx context.Context, p *protocol) error {
			_, err := newFencedProtocol(p.e, p.name).Reserve(ctx, private, 1)
			return err
		},
		"guard_set.lua": func(ctx context.Context, p *protocol) error {
			return NewGuard(p.e, p.name+".value", "lock").Set(ctx, token, "v")
		},
		"guard_hset.lua": func(ctx context.Context, p *protocol) error {
			return NewGuard(p.e, p.name+".value", "lock").HSet(ctx, token, map[string]string{"f": "v", "g": "w"})
		},
		"release.lua": func(ctx context.Context, p *protocol) error { _, err := p.Release(ctx, private); return err },
		"bury.lua":    func(ctx context.Context, p *protocol) error { _, err := p.GiveBack(ctx, private); return err },
		"export.lua":  func(ctx context.Context, p *protocol) error { _, err := p.Export(ctx, private, shared); return err },
		"join.lua": func(ctx context.Context, p *protocol) error {
			_, err := p.Join(ctx, shared, request, lease)
			return err
		},
		"leave.lua": func(ctx context.Context, p *protocol) error { return p.Leave(ctx, shared, request) },
		"unlock.lua": func(ctx context.Context, p *protocol) error {
			_, err := p.Unlock(ctx, shared, request, lease)
			return err
		},
		"force.lua":   func(ctx context.Context, p *protocol) error { _, err := p.force(ctx); return err },
		"inspect.lua": func(ctx context.Context, p *protocol) error { _, err := p.inspect(ctx); return err },
	}
}

// followed is what is sent behind a script by the same method, since each of
// the two has one key.
var followed = map[string][]string{"bury.lua": {"release.lua"}, "acquire_moving.lua": {"renew.lua"}}

func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	for script, send := range methods(e) {
		for _, name := range []string{"orders", "{u1}:orders", "a{b}c"} {
			t.Run(script+" "+name, func(t *testing.T) {
				require.NoError(t, send(t.Context(), newProtocol(e, name)))
				calls := r.Take()
				key := name
				switch script {
				case "bury.lua":
					key = keys.Tombstones(name)
				case "guard_set.lua", "guard_hset.lua":
					key += ".value" // of another type each time
					_, err := e.Run(t.Context(), scripts.NewCommand("DEL", scripts.Safe), []string{key}, nil)
					require.NoError(t, err)
				}
				require.Equal(t, append([]string{script}, followed[script]...), redistest.ScriptNames(calls))
				assert.Equal(t, key, calls[0].Keys[0])
				for _, c := range calls {
					right(t, c)
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
		if text, err := lua.ReadFile("lua/" + f.Name()); assert.NoError(t, err) && !scripts.IsPart(string(text)) {
			there = append(there, path.Base(f.Name()))
		}
	}
	for script := range methods(e) {
		called = append(called, script)
	}
	assert.ElementsMatch(t, there, called, "scripts, and those that the test above calls")
}

// An acquire that too few replicas confirm calls the same script, with WAIT
// behind it, and gives back what it took.
func TestAnAcquireThatIsNotReplicatedCallsTwoScripts(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t, func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, time.Millisecond })
	_, err := newProtocol(e, "orders").Acquire(t.Context(), locking.Try{Owner: e.IDs.Private(), Lease: time.Minute})
	require.ErrorIs(t, err, ErrNotReplicated)
	calls := r.Take()
	require.Equal(t, []string{"acquire.lua", "bury.lua", "release.lua"}, redistest.ScriptNames(calls))
	for _, c := range calls {
		right(t, c)
	}
}

// The watchdog's renewals, and those that a holder asks for, pass an owner and
// a lease for each key.
func TestRenewalsPassPairs(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t, func(c *core.Config) { c.WatchdogTimeout = 6 * time.Second })
	var holds []*Hold
	for _, name := range []string{"{a}one", "{a}two", "{a}three"} { // of one slot, as in any batch of a cluster
		hold, err := New(e, name).Lock(t.Context())
		require.NoError(t, err)
		holds = append(holds, hold)
	}
	calls := r.Await("renew.lua")
	require.NoError(t, holds[0].Extend(t.Context(), time.Minute))
	calls = append(calls, r.Await("renew.lua")...)
	for _, hold := range holds {
		require.NoError(t, hold.Unlock(t.Context()))
	}
	for _, c := range append(calls, r.Take()...) {
		right(t, c)
	}
}
