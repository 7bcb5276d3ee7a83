package topic

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// quickly has an outage noticed sooner.
func quickly(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("all hear all", func(t *testing.T) {
		for kind, of := range kinds {
			name := redistest.Name(t)
			topic, beside := of(engineOn(t, cluster.Client(t)), name), of(engineOn(t, cluster.Client(t)), name)
			one, other := topic.listening(t), beside.listening(t)
			for i := range 50 {
				n, err := topic.publish(t.Context(), strconv.Itoa(i))
				require.NoError(t, err)
				if kind != "pattern" { // which is subscribed where its own name belongs
					require.EqualValues(t, 2, n, kind)
				}
			}
			one.hears(t, numbers(0, 50)...)
			other.hears(t, numbers(0, 50)...)
			if topic.subscribers != nil {
				n, err := topic.subscribers(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 2, n)
			}
		}
	})
	t.Run("names that break slots of others", func(t *testing.T) {
		for _, of := range []maker{kinds["plain"], kinds["sharded"]} {
			topic := of(engineOn(t, cluster.Client(t)), "{}orders}")
			s := topic.listening(t)
			topic.publishes(t, "a")
			s.hears(t, "a")
		}
	})
	t.Run("names that are active", func(t *testing.T) { namesThatAreActive(t, cluster.Client(t)) })
	t.Run("a replay", func(t *testing.T) { replayed(t, cluster.Client(t), redistest.Name(t)) })
	t.Run("reliable topics", func(t *testing.T) {
		for what, test := range reliableSuite {
			t.Run(what, func(t *testing.T) { test(t, cluster.Client(t), redistest.Name(t)) })
		}
	})
	t.Run("names of reliable topics that break slots", func(t *testing.T) {
		_, err := NewReliable[string](engineOn(t, cluster.Client(t)), "{}orders").Listen(t.Context())
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
	for what, resp2 := range map[string]bool{"": false, ", without announcements": true} {
		t.Run("reliable topics of many slots"+what, func(t *testing.T) {
			raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true, AlwaysRESP2: resp2})
			require.NoError(t, err)
			t.Cleanup(raw.Close)
			e := engineOn(t, raw, twoBlock)
			var of []*reliableRig
			var all []reliably
			for range 14 {
				r := reliableBy(t, raw, e, redistest.Name(t))
				of, all = append(of, r), append(all, r.listening())
			}
			shareConnections(t, all, func(i int, v string) { of[i].publishes(1, v) }, slices.Collect(maps.Values(raw.Nodes()))...)
		})
	}
	t.Run("who listens waits for a slot that moves", func(t *testing.T) { listensWhileItsSlotMoves(t, cluster) })
	t.Run("a slot moves under a reliable topic", func(t *testing.T) {
		r := reliableOn(t, cluster.Client(t), redistest.Name(t))
		s := r.listening()
		r.publishes(1, "a", "b")
		s.hears(t, "a")
		m := cluster.StartMigration(t, r.of.key)
		m.Move(t, r.of.key, r.of.timeout)
		m.Finish(t)
		redistest.Eventually(t, func() bool { _, err := r.Publish(t.Context(), "c"); return err == nil }, soon, 50*time.Millisecond)
		s.hears(t, "b", "c")
	})
	t.Run("a failover under a reliable topic", func(t *testing.T) {
		r := reliableOn(t, cluster.Client(t), redistest.Name(t))
		s := r.listening()
		r.publishes(1, "a")
		s.hears(t, "a")
		time.Sleep(200 * time.Millisecond) // replicas have it
		master := cluster.Master(r.of.key)
		master.Kill()
		cluster.AwaitMaster(t, r.of.key, master.Addr())
		redistest.Eventually(t, func() bool { _, err := r.Publish(t.Context(), "b"); return err == nil }, soon, 50*time.Millisecond)
		for got := s.next(t, 1)[0]; got.text != "b"; got = s.next(t, 1)[0] {
			require.True(t, got.err == nil || errors.Is(got.err, core.ErrNotice), got.err)
		}
		master.Restart()
		cluster.AwaitComplete(t)
	})
	for kind, of := range kinds {
		t.Run("a slot moves under a "+kind+" topic", func(t *testing.T) {
			l := talking(t, cluster.Client(t), redistest.Name(t), of)
			m := cluster.StartMigration(t, l.name)
			l.more(t)
			m.Finish(t)
			l.more(t)
			l.end(t, kind == "sharded")
		})
	}
	t.Run("a failover", func(t *testing.T) {
		name := "{" + redistest.Name(t) + "}"
		var all []*talk
		for kind, of := range kinds {
			all = append(all, talking(t, cluster.Client(t), name+kind, of))
		}
		master := cluster.Master(name)
		master.Kill()
		cluster.AwaitMaster(t, name, master.Addr())
		for _, l := range all {
			l.more(t)
			l.end(t, true)
		}
	})
}

func listensWhileItsSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	raw := cluster.Client(t)
	e := engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = time.Second }) // and answers of operations take a third of it
	r := reliableBy(t, raw, e, redistest.Name(t))
	by := reliableOn(t, raw, r.Name()) // one that is not in a hurry
	by.publishes(0, "a")
	m := cluster.StartMigration(t, r.of.key)
	m.Move(t, r.of.key)
	_, err := by.Publish(t.Context(), "b")
	require.ErrorContains(t, err, "the slot is on the move")
	listens := make(chan *ReliableSubscription[string], 1)
	go func() {
		s, err := redistest.Patient(func() (*ReliableSubscription[string], error) { return r.Listen(t.Context()) })
		assert.NoError(t, err)
		listens <- s
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = reliableOn(t, raw, r.Name()).Listen(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	m.Finish(t)
	s := <-listens
	require.NotNil(t, s)
	defer s.Close()
	reliably{s}.hears(t, "a")
	redistest.Eventually(t, func() bool { n, err := r.CountSubscribers(t.Context()); return err == nil && n == 1 }, soon, 5*time.Millisecond, "who gave up is left")
}

func TestBehindSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	l := talking(t, sentinel.Client(t), redistest.Name(t), kinds["plain"])
	master := sentinel.Master()
	master.Kill()
	sentinel.AwaitMaster(t, master.Addr())
	l.more(t)
	l.end(t, true)
}

// talk is somebody who publishes numbers all the time, and another client who
// listens.
type talk struct {
	name string
	stop context.CancelFunc
	all  sync.WaitGroup

	mu    sync.Mutex
	sent  []int // that were published for certain
	heard map[int]bool
	last  int
	cuts  int
	wrong []error
}

func talking(t *testing.T, raw rueidis.Client, name string, of maker) *talk {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &talk{name: name, stop: stop, heard: map[int]bool{}}
	t.Cleanup(func() { stop(); l.all.Wait() })
	s := of(engineOn(t, raw, quickly), name).listening(t, WithBuffer(1_000_000))
	topic := of(engineOn(t, raw, quickly), name)
	l.all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := topic.publish(ctx, strconv.Itoa(i)); err == nil {
				l.sends(i)
			}
		}
	})
	l.all.Go(func() {
		for v, err := range s.messages(ctx) {
			l.note(v, err)
		}
	})
	l.more(t)
	return l
}

func (l *talk) sends(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, n)
}

func (l *talk) note(v string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n, bad := strconv.Atoi(v); {
	case errors.Is(err, ErrDisconnected):
	case errors.Is(err, ErrInterrupted):
		l.cuts++
	case errors.Is(err, context.Canceled):
	case err != nil || bad != nil:
		l.wrong = append(l.wrong, err, bad)
	default:
		l.heard[n] = true
		l.last = max(l.last, n)
	}
}

func (l *talk) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.heard)
}

func (l *talk) interrupted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cuts > 0
}

// more waits for some more messages.
func (l *talk) more(t *testing.T) {
	t.Helper()
	want := l.count() + 50
	require.Eventually(t, func() bool { return l.count() >= want }, soon, time.Millisecond)
}

// end checks that nothing was lost without a word. Must says that there was to be one.
func (l *talk) end(t *testing.T, must bool) {
	t.Helper()
	if must { // what came before may still be read
		redistest.Eventually(t, l.interrupted, soon, time.Millisecond, "nobody was told that messages may have been missed")
	}
	l.stop()
	l.all.Wait()
	require.Empty(t, l.wrong)
	missed := 0
	for _, n := range l.sent {
		if n < l.last && !l.heard[n] {
			missed++
		}
	}
	t.Logf("%d published, %d missed, %d interruptions", len(l.sent), missed, l.cuts)
	if l.cuts == 0 {
		require.Zero(t, missed, "nobody was told")
	}
}

// TestTopicsBehindSentinelsLeaveAnOldMaster that lives on and answers.
func TestTopicsBehindSentinelsLeaveAnOldMaster(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	sentinel.AddApp(t)
	client := sentinel.Client(t, redistest.AsApp)
	r := reliableBy(t, client, engineOn(t, client, quickly), "news", WithMaxLength(1000))
	s, d := r.listening(), r.durable("billing")
	r.publishes(2, "before")
	s.hears(t, "before")
	d.hears(t, "before")
	s.f.isQuiet(t)
	now := sentinel.SplitOff(t, client)
	_, err := reliableOn(t, now.Client(t), "news", WithMaxLength(1000)).Publish(t.Context(), "behind")
	require.NoError(t, err)
	s.hears(t, "behind")
	d.hears(t, "behind")
}
