package mapcache

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// start is what the clocks of these tests say in the beginning.
const start = int64(1_800_000_000_000)

// clock is moved by hand.
type clock struct{ *enginetest.Clock }

func (c clock) forward(d time.Duration) { c.Forward(d) }

// rig is a cache as the server has it, and a client with a clock that is moved by hand.
type rig struct {
	t     testing.TB
	e     *locking.Engine
	raw   rueidis.Client
	n     Names
	clock clock
}

func engineOn(t testing.TB, raw rueidis.Client, at core.Clock) *locking.Engine {
	t.Helper()
	return enginetest.Plain(t, raw, func(c *core.Config) { c.Clock = at })
}

// sweeperOn returns a sweeper of caches, apart from that of the engine.
func sweeperOn(e *locking.Engine, told func(core.Sweep)) *Sweeper {
	return NewSweeper(e, sweep.New(e, told))
}

func rigOn(t testing.TB, raw rueidis.Client, name string) *rig {
	t.Helper()
	c := clock{enginetest.NewClock()}
	r := &rig{t, engineOn(t, raw, c), raw, NamesOf(name), c}
	t.Cleanup(func() {
		keys := append(r.n.All(), r.n.latch, r.n.Lease("k"))
		assert.NoError(t, raw.Do(context.Background(), raw.B().Del().Key(keys...).Build()).Error())
	})
	return r
}

func newRig(t testing.TB) *rig { return rigOn(t, redistest.Shared(t).Client(t), redistest.Name(t)) }

// everywhere runs f on each server, and on the one that runs in the process.
func everywhere(t *testing.T, f func(t *testing.T, raw rueidis.Client)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f(t, redistest.Shared(t, redistest.Version(version)).Client(t))
		})
	}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		raw, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
		require.NoError(t, err)
		t.Cleanup(raw.Close)
		f(t, raw)
	})
}

// do sends a command of which the first argument is a key.
func (r *rig) do(args ...string) rueidis.RedisMessage {
	r.t.Helper()
	msg, err := r.raw.Do(context.Background(), r.raw.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		require.NoError(r.t, err, args)
	}
	return msg
}

func (r *rig) count(args ...string) int64 {
	r.t.Helper()
	msg := r.do(args...)
	n, err := msg.AsInt64()
	require.NoError(r.t, err, args)
	return n
}

func (r *rig) now() string { return strconv.FormatInt(r.e.Wall(), 10) }

// tried is a script's answer, or error.
func (r *rig) tried(s *scripts.Script, on, args []string) (rueidis.RedisMessage, error) {
	r.t.Helper()
	require.NoError(r.t, s.Header().Check(len(on), len(args)), s.Name)
	got, err := r.e.Run(context.Background(), s, on, args)
	return got.RedisMessage, err
}

func (r *rig) run(s *scripts.Script, on []string, args ...string) rueidis.RedisMessage {
	r.t.Helper()
	msg, err := r.tried(s, on, args)
	require.NoError(r.t, err, s.Name)
	return msg
}

// one is the keys of a write of one entry.
func (r *rig) one(key string) []string { return append(r.n.All(), r.n.Lease(key)) }

// write is a write of one entry: what its script says of the bound, and the rest of its answer.
func (r *rig) write(s *scripts.Script, key string, args ...string) (left int64, answer rueidis.RedisMessage) {
	r.t.Helper()
	msg := r.run(s, r.one(key), append([]string{"0", r.now(), r.e.Publish(), key}, args...)...)
	parts, err := msg.ToArray()
	require.NoError(r.t, err)
	require.Len(r.t, parts, 3)
	left, err = parts[0].AsInt64()
	require.NoError(r.t, err)
	return left, parts[1]
}

// stored is a write of a value that lives for so long.
func (r *rig) stored(s *scripts.Script, key, value string, l Life) (int64, rueidis.RedisMessage) {
	r.t.Helper()
	now := r.e.Wall()
	return r.write(s, key, string(Pack(nil, value, l.Idle)), l.Ends(now), l.Rests(now))
}

func (r *rig) put(key, value string, l Life) int64 {
	r.t.Helper()
	now := r.e.Wall()
	msg := r.run(PutMany, r.one(key), "0", r.now(), r.e.Publish(), l.Ends(now), l.Rests(now), key, packed(value, l.Idle))
	parts, err := msg.ToArray()
	require.NoError(r.t, err)
	left, err := parts[0].AsInt64()
	require.NoError(r.t, err)
	return left
}

// text is a value out of an answer; "-" for none.
func (r *rig) text(m rueidis.RedisMessage) string {
	r.t.Helper()
	if m.IsNil() {
		return "-"
	}
	packed, err := m.ToString()
	require.NoError(r.t, err)
	value, err := Unpack(packed)
	require.NoError(r.t, err)
	return value
}

// texts is several of them.
func (r *rig) texts(m rueidis.RedisMessage) (all []string) {
	r.t.Helper()
	parts, err := m.ToArray()
	require.NoError(r.t, err)
	for _, part := range parts {
		all = append(all, r.text(part))
	}
	return all
}

func (r *rig) get(key string) string {
	r.t.Helper()
	return r.texts(r.run(Get, r.n.All()[:4], r.now(), "", key))[0]
}

// entry is what stands in Redis under a key: the header's idle time and the value, when it ends, when it has rested;
// empty: no such thing.
type entry struct{ packed, ends, rests string }

func (r *rig) entry(key string) (e entry) {
	r.t.Helper()
	for to, cmd := range map[*string][]string{
		&e.packed: {"HGET", r.n.Hash, key}, &e.ends: {"ZSCORE", r.n.Times, key}, &e.rests: {"ZSCORE", r.n.Rests, key},
	} {
		msg := r.do(cmd...)
		if !msg.IsNil() {
			text, err := msg.ToString()
			require.NoError(r.t, err)
			*to = text
		}
	}
	if e.packed != "" {
		e.packed = string(e.packed)
	}
	return e
}

func packed(value string, idle time.Duration) string { return string(Pack(nil, value, idle)) }

func at(d time.Duration) string { return strconv.FormatInt(start+d.Milliseconds(), 10) }

// left are the keys that there are.
func (r *rig) left() (keys []string) {
	r.t.Helper()
	for _, key := range append(r.n.All(), r.n.latch, r.n.Lease("k")) {
		if r.count("EXISTS", key) == 1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// ears hear the events of a cache.
type ears struct {
	t      testing.TB
	mu     sync.Mutex
	events []Event
	news   chan struct{}
}

func (r *rig) listen() *ears {
	r.t.Helper()
	r.do("HSET", r.n.Options, "has-listeners", "1")
	h := &ears{t: r.t, news: make(chan struct{}, 1)}
	for kind := range kinds {
		sub, err := r.e.Subscribe(context.Background(), kind.Channel(r.n.Hash), func(ev pubsub.Event) { h.heard(kind, ev) })
		require.NoError(r.t, err)
		r.t.Cleanup(sub.Close)
	}
	return h
}

func (h *ears) heard(kind Kind, ev pubsub.Event) {
	if ev.Kind != pubsub.Message {
		return
	}
	got, err := ParseEvent(kind, ev.Payload)
	assert.NoError(h.t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, got)
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// expect waits for events, in any order, and forgets them.
func (h *ears) expect(want ...Event) {
	h.t.Helper()
	deadline := time.After(soon)
	for {
		h.mu.Lock()
		got := slices.Clone(h.events)
		h.mu.Unlock()
		if len(got) >= len(want) {
			assert.ElementsMatch(h.t, want, got)
			break
		}
		select {
		case <-h.news:
		case <-deadline:
			h.t.Fatalf("heard %v, and not %v", got, want)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = nil
}
