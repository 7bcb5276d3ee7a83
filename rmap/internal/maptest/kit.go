package maptest

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// EngineOn returns an engine on a client that somebody else closes.
var EngineOn = enginetest.On

var OnReal, OnServers, Named, MiniredisClient = redistest.OnReal, redistest.OnServers, redistest.Named, redistest.MiniredisClient

// Rounds is redistest.Count, a third of it everyday on the embedded server: there scripts are Go, which the race detector
// slows down most.
func Rounds(t testing.TB, everyday, soak int) int {
	t.Helper()
	if OnEmbedded(t) {
		everyday = (everyday + 2) / 3
	}
	return redistest.Count(t, everyday, soak)
}

// OnEmbedded reports whether OnServers runs the test on the embedded server, where a script of a thousand steps takes a
// slow machine seconds.
func OnEmbedded(t testing.TB) bool { return strings.Contains(t.Name(), "/miniredis") }

// TextCodec returns the text codec of strings.
func TextCodec() codec.Codec[string] { return TextCodecOf[string]() }

// TextCodecOf returns the text codec of a type.
func TextCodecOf[T any]() codec.Codec[T] { return codec.For[T](codec.Text) }

// TextFamily is codec.Text.
var TextFamily = codec.Text

// As returns options of one kind of map as those of another kind that takes all of them.
func As[To, From any](opts []From) []To {
	all := make([]To, len(opts))
	for i, o := range opts {
		all[i] = any(o).(To)
	}
	return all
}

// Raws sends commands as another program would.
func Raws(t testing.TB, raw rueidis.Client, cmds ...string) {
	t.Helper()
	for _, cmd := range cmds {
		words := strings.Fields(cmd)
		err := raw.Do(t.Context(), raw.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).Error()
		require.NoError(t, err, cmd)
	}
}

// IntOf returns the answer of a command that is a number.
func IntOf(t testing.TB, raw rueidis.Client, cmd, key string, args ...string) int64 {
	t.Helper()
	n, err := raw.Do(t.Context(), raw.B().Arbitrary(cmd).Keys(key).Args(args...).Build()).AsInt64()
	require.NoError(t, err)
	return n
}

var ShortSends, Through = enginetest.ShortSends, redistest.ThroughProxy

// Soon bounds what has to happen, on a machine however slow.
var Soon = redistest.Soon

// HandClock is a clock that is moved by hand.
type HandClock struct{ *enginetest.Clock }

// NewHandClock returns a clock that stands.
func NewHandClock() *HandClock { return &HandClock{enginetest.NewClock()} }

// On has an engine use the clock.
func (c *HandClock) On(cfg *core.Config) { c.To(cfg) }

// CacheNamed deletes all that a test has under the name of a cache.
func CacheNamed(t testing.TB, raw rueidis.Client) string {
	t.Helper()
	name := redistest.Name(t)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(mapstore.ObjectOf(name)...).Build()) })
	return name
}

// NothingIsLeft sees that no lease and no lock is left of loads.
func NothingIsLeft(t testing.TB, raw rueidis.Client, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, pattern := range []string{"redisson__map__lease:{" + name + "}*", "rueidisson_map_lease:{" + name + "*", "{" + name + "*:lock"} {
			left, err := raw.Do(context.Background(), raw.B().Keys().Pattern(pattern).Build()).AsStrSlice()
			if err != nil || len(left) > 0 {
				return false
			}
		}
		return true
	}, Soon, 5*time.Millisecond)
}

// Source is a store that is slow, and counts.
type Source struct {
	Calls atomic.Int64
	Began chan struct{} // of each call
	Open  chan struct{} // closed: calls return
	V     atomic.Int64
	Err   error
}

// NewSource returns a source whose calls wait until it is open.
func NewSource() *Source {
	s := &Source{Began: make(chan struct{}, 1000), Open: make(chan struct{})}
	s.V.Store(7)
	return s
}

func (s *Source) Load(ctx context.Context, _ string) (int, bool, error) {
	s.Calls.Add(1)
	v := int(s.V.Load()) // before it is written to, for those who do so meanwhile
	s.Began <- struct{}{}
	select {
	case <-s.Open:
		return v, v != 0, s.Err
	case <-ctx.Done():
		return 0, false, ctx.Err()
	}
}

// Quick is a loader that returns the number that a key is.
func Quick(_ context.Context, k string) (int, bool, error) {
	n, err := strconv.Atoi(k)
	return n, err == nil, nil
}

// NumbersTo returns the keys from 0 to n-1.
func NumbersTo(n int) (ks []string) {
	for i := range n {
		ks = append(ks, strconv.Itoa(i))
	}
	return ks
}

// Looks counts how often somebody has looked whether there is an entry to load.
type Looks struct {
	core.Observer
	N atomic.Int64
}

func (l *Looks) ScriptRan(_ context.Context, script string, _ time.Duration, _ int, _ error) {
	if script == "load_look" {
		l.N.Add(1)
	}
}

func (*Looks) WaitStarted(context.Context, string, string) {}

func (*Looks) WaitEnded(context.Context, string, string, time.Duration, error) {}

func (*Looks) Acquired(context.Context, string, string, bool) {}

func (*Looks) Released(context.Context, string, string, bool) {}

// StaleSource is a source that counts, and may be down.
type StaleSource struct {
	V, Calls atomic.Int64
	Down     atomic.Bool
}

func (s *StaleSource) Load(context.Context, string) (int, bool, error) {
	s.Calls.Add(1)
	if s.Down.Load() {
		return 0, false, errors.New("down")
	}
	v := int(s.V.Load())
	return v, v != 0, nil
}

func (s *StaleSource) LoadMany(ctx context.Context, ks []string) (map[string]int, error) {
	v, there, err := s.Load(ctx, "")
	all := map[string]int{}
	for _, k := range ks {
		if there {
			all[k] = v
		}
	}
	return all, err
}

// ScriptsOf returns the names of the scripts of mapstore that begin with one of these words. Parts of scripts are none.
func ScriptsOf(t testing.TB, words ...string) (names []string) {
	t.Helper()
	files, err := mapstore.Lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		word, _, _ := strings.Cut(strings.TrimSuffix(file.Name(), ".lua"), "_")
		body, err := scripts.Read(mapstore.Lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		if slices.Contains(words, word) && !scripts.IsPart(body) {
			names = append(names, file.Name())
		}
	}
	require.NotEmpty(t, names)
	return names
}

// Watcher is an observer of caches.
type Watcher struct {
	Mu     sync.Mutex
	Sweeps []core.Sweep
	Events map[string]int
	Loads  []core.Load
	Writes []core.Write
}

func (w *Watcher) Loaded(_ context.Context, l core.Load) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Loads = append(w.Loads, l)
}

func (w *Watcher) Wrote(_ context.Context, one core.Write) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Writes = append(w.Writes, one)
}

func (w *Watcher) Swept(_ context.Context, s core.Sweep) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Sweeps = append(w.Sweeps, s)
}

func (w *Watcher) Heard(_ context.Context, cache, kind string) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Events[cache+" "+kind]++
}

func (w *Watcher) Near(_ context.Context, n core.NearCounts) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Events[n.Cache+" near"]++
}

// Evicted returns how many entries were evicted so far.
func (w *Watcher) Evicted() (n int64) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	for _, s := range w.Sweeps {
		n += s.Evicted
	}
	return n
}

// Spoken is an observer that says what its process has swept.
type Spoken struct{ Parent *redistest.Parent }

func (s Spoken) Swept(_ context.Context, v core.Sweep) {
	if v.Expired > 0 {
		s.Parent.Say("swept %d", v.Expired)
	}
}

func (Spoken) Heard(context.Context, string, string) {}

func (Spoken) Near(context.Context, core.NearCounts) {}

func (Spoken) Loaded(context.Context, core.Load) {}

func (Spoken) Wrote(context.Context, core.Write) {}
