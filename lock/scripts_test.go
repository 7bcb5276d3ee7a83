package lock

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// scriptCall is one EVAL or EVALSHA as it went out.
type scriptCall struct {
	script     string // the file's name, from the first line of its text
	header     scripts.Header
	keys, args []string
}

// scriptRecorder notes the script calls of a client. It learns the text behind
// a hash from the EVAL that follows a NOSCRIPT, so it needs a server of its own.
type scriptRecorder struct {
	rueidis.Client
	t testing.TB

	mu    sync.Mutex
	texts map[string]string
	calls []scriptCall
	news  chan struct{}
}

func (r *scriptRecorder) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	r.note(cmd)
	return r.Client.Do(ctx, cmd)
}

func (r *scriptRecorder) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	r.note(cmds...)
	return r.Client.DoMulti(ctx, cmds...)
}

// note copies: rueidis reuses a command once it was sent.
func (r *scriptRecorder) note(cmds ...rueidis.Completed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cmd := range cmds {
		switch args := slices.Clone(cmd.Commands()); args[0] {
		case "EVAL":
			sum := sha1.Sum([]byte(args[1]))
			r.texts[hex.EncodeToString(sum[:])] = args[1]
			r.add(args[1], args[2:])
		case "EVALSHA":
			if text, known := r.texts[args[1]]; known {
				r.add(text, args[2:])
			}
		}
	}
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *scriptRecorder) add(text string, rest []string) {
	header, err := scripts.ParseHeader(text)
	if err != nil {
		return // the probe at start-up
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "-- "), ":")
	n, err := strconv.Atoi(rest[0])
	if !assert.NoError(r.t, err) {
		return
	}
	r.calls = append(r.calls, scriptCall{script: name, header: header, keys: rest[1 : 1+n], args: rest[1+n:]})
}

// take returns what was called since the last time.
func (r *scriptRecorder) take() []scriptCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// await returns what was called up to the first call of script.
func (r *scriptRecorder) await(script string) (calls []scriptCall) {
	r.t.Helper()
	patience := time.NewTimer(10 * time.Second)
	defer patience.Stop()
	for {
		calls = append(calls, r.take()...)
		if slices.Contains(scriptNames(calls), script) {
			return calls
		}
		select {
		case <-r.news:
		case <-patience.C:
			require.FailNow(r.t, "no call of "+script)
		}
	}
}

func scriptNames(calls []scriptCall) (names []string) {
	for _, c := range calls {
		names = append(names, c.script)
	}
	return names
}

// recorded returns an engine on a server that knows no script yet.
func recorded(t *testing.T, change func(*engine.Config)) (*engine.Engine, *scriptRecorder) {
	t.Helper()
	server := redistest.Miniredis(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, DisableCache: true, AlwaysRESP2: true, ForceSingleClient: true,
	})
	require.NoError(t, err)
	r := &scriptRecorder{Client: client, t: t, texts: map[string]string{}, news: make(chan struct{}, 1)}
	cfg := engine.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute, Owned: true}
	if change != nil {
		change(&cfg)
	}
	e, err := engine.New(t.Context(), r, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close(context.Background())) })
	return e, r
}

// right checks one call: as many keys and arguments as the header names, and
// all keys in one slot.
func right(t *testing.T, c scriptCall) {
	t.Helper()
	assert.NoError(t, c.header.Check(len(c.keys), len(c.args)), c.script)
	for _, key := range c.keys {
		assert.Equal(t, redistest.Slot(c.keys[0]), redistest.Slot(key), "%s: %q are of several slots", c.script, c.keys)
		assert.NotEmpty(t, key, c.script)
	}
	if slices.Contains(c.header.Args, "2i") {
		assert.Len(t, c.args, 2*len(c.keys), "%s takes pairs", c.script)
	}
}

// methods is every method of the protocol that sends a script, and the script
// that it sends. TestEveryScriptIsCalled keeps it complete.
func methods(e *engine.Engine) map[string]func(ctx context.Context, p *protocol) error {
	private, shared := e.IDs.Private(), e.IDs.Exported()
	const request, lease = "0123456789abcdef0123456789abcdef", time.Minute
	return map[string]func(ctx context.Context, p *protocol) error{
		"acquire.lua":  func(ctx context.Context, p *protocol) error { _, err := p.Acquire(ctx, private, lease); return err },
		"release.lua":  func(ctx context.Context, p *protocol) error { _, err := p.Release(ctx, private); return err },
		"giveback.lua": func(ctx context.Context, p *protocol) error { _, err := p.GiveBack(ctx, private); return err },
		"export.lua":   func(ctx context.Context, p *protocol) error { _, err := p.Export(ctx, private, shared); return err },
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

func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := recorded(t, nil)
	for script, send := range methods(e) {
		for _, name := range []string{"orders", "{u1}:orders", "a{b}c"} {
			t.Run(script+" "+name, func(t *testing.T) {
				require.NoError(t, send(t.Context(), newProtocol(e, name)))
				calls := r.take()
				require.Equal(t, []string{script}, scriptNames(calls))
				assert.Equal(t, name, calls[0].keys[0], "KEYS[1] is the lock")
				right(t, calls[0])
			})
		}
	}
}

func TestEveryScriptIsCalled(t *testing.T) {
	t.Parallel()
	e, _ := recorded(t, nil)
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

// An acquire that too few replicas confirm calls the same script, with WAIT
// behind it, and gives back what it took.
func TestAnAcquireThatIsNotReplicatedCallsTwoScripts(t *testing.T) {
	t.Parallel()
	e, r := recorded(t, func(c *engine.Config) { c.ReplicaAcks, c.AckTimeout = 1, time.Millisecond })
	_, err := newProtocol(e, "orders").Acquire(t.Context(), e.IDs.Private(), time.Minute)
	require.ErrorIs(t, err, ErrNotReplicated)
	calls := r.take()
	require.Equal(t, []string{"acquire.lua", "giveback.lua"}, scriptNames(calls))
	for _, c := range calls {
		right(t, c)
	}
}

// The watchdog's renewals, and those that a holder asks for, pass an owner and
// a lease for each key.
func TestRenewalsPassPairs(t *testing.T) {
	t.Parallel()
	e, r := recorded(t, func(c *engine.Config) { c.WatchdogTimeout = 2 * time.Second })
	var holds []*Hold
	for _, name := range []string{"{a}one", "{a}two", "{a}three"} { // of one slot, as in any batch of a cluster
		hold, err := New(e, name).Lock(t.Context())
		require.NoError(t, err)
		holds = append(holds, hold)
	}
	calls := r.await("renew.lua")
	require.NoError(t, holds[0].Extend(t.Context(), time.Minute))
	calls = append(calls, r.await("renew.lua")...)
	for _, hold := range holds {
		require.NoError(t, hold.Unlock(t.Context()))
	}
	for _, c := range append(calls, r.take()...) {
		right(t, c)
	}
}
