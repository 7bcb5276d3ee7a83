package locking

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// fakeServer is a lock and its channel without Redis: what it is asked, and
// when, is written down.
type fakeServer struct {
	e       *Engine
	clock   watchdog.Clock
	started time.Time

	mu         sync.Mutex
	holder     string
	until      time.Time       // the lease of the holder; zero: it has none
	reading    map[string]bool // they hold it together then, and the holder is "readers"
	hint       int64           // what readers are told
	claimed    bool            // somebody waits to have it alone, who goes before readers
	turn       bool            // it is the readers' turn
	gone       map[string]bool
	down       error         // what scripts answer
	deaf       error         // what subscribing answers
	requests   time.Duration // how long a script takes to arrive
	replies    time.Duration // how long its answer takes to come back
	listeners  int           // who else is subscribed
	handlers   []pubsub.Handler
	tries      []time.Duration // when acquires arrived
	asked      []Try
	fence      int64 // of the last acquisition; 0: there are none
	reserves   []int // how many tokens were asked for, beside those of acquires
	releases   int
	downgrades int
	givebacks  []time.Duration // when they arrived
}

// newFake returns an engine whose only lock is the fake. It is closed when
// the test ends.
func newFake(t *testing.T, change ...func(*core.Config)) *fakeServer {
	cfg := core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Handovers: 64, HandoverTime: time.Hour, Linger: time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	c := core.New(nil, cfg)
	s := &fakeServer{clock: c.Now, started: time.Now(), gone: map[string]bool{}}
	s.e = newEngine(wait.New(lease.New(send.New(c), s), s))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = Close(ctx, s.e)
	})
	return s
}

func (s *fakeServer) Key() core.Key           { return core.Key{Kind: "lock", Name: "fake"} }
func (s *fakeServer) Renewal() *lease.Renewal { return lease.LockRenewal }
func (s *fakeServer) Channel() string         { return "released:fake" }

// set changes the server.
func (s *fakeServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// travel is one script call: there, do, and back.
func (s *fakeServer) travel(do func()) error {
	s.mu.Lock()
	there := s.requests
	s.mu.Unlock()
	time.Sleep(there)
	s.mu.Lock()
	back, err := s.replies, s.down
	if err == nil {
		if !s.until.IsZero() && !time.Now().Before(s.until) {
			s.holder, s.until = "", time.Time{}
		}
		do()
	}
	s.mu.Unlock()
	time.Sleep(back)
	return err
}

func (s *fakeServer) Label() string { return "fake" }

func (s *fakeServer) Acquire(_ context.Context, a Try) (tried Tried, err error) {
	who, lease := a.Owner, a.Lease
	s.set(func() { s.asked = append(s.asked, a) })
	tried.Started = s.clock()
	s.set(func() { s.tries = append(s.tries, time.Since(s.started)) })
	err = s.travel(func() {
		switch {
		case s.gone[who]:
			tried.Left = -2
		case s.turn && a.Sharers:
			tried.Left, tried.Hint = time.Second, 1
		case s.holder == "" || s.holder == who:
			s.holder, s.until, tried.Free = who, time.Now().Add(lease), true
			if s.fence > 0 {
				s.fence += int64(1 + a.Block)
				tried.Fence, tried.Block = s.fence-int64(a.Block), a.Block
			}
		case s.until.IsZero():
			tried.Left = -1
		default:
			tried.Left = time.Until(s.until)
		}
	})
	return tried, err
}

func (s *fakeServer) Fences() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fence > 0
}

func (s *fakeServer) Reserve(_ context.Context, who string, n int) (last int64, err error) {
	err = s.travel(func() {
		s.reserves = append(s.reserves, n)
		if s.holder == who {
			s.fence += int64(n)
			last = s.fence
		}
	})
	return last, err
}

func (s *fakeServer) Release(_ context.Context, who string) (r lease.Released, err error) {
	err = s.travel(func() {
		s.releases++
		r = s.free(who)
	})
	return r, err
}

func (s *fakeServer) GiveBack(_ context.Context, who string) (r lease.Released, err error) {
	s.set(func() { s.givebacks = append(s.givebacks, time.Since(s.started)) })
	err = s.travel(func() {
		s.gone[who] = true
		r = s.free(who)
	})
	return r, err
}

// fakeReader is the side of the fake whose holds are shared.
type fakeReader struct{ *fakeServer }

func (r fakeReader) Label() string { return "fake read" }

func (r fakeReader) Acquire(_ context.Context, a Try) (tried Tried, err error) {
	r.set(func() { r.asked = append(r.asked, a) })
	tried.Started = r.clock()
	r.set(func() { r.tries = append(r.tries, time.Since(r.started)) })
	err = r.travel(func() {
		switch {
		case r.gone[a.Owner]:
			tried.Left = -2
		case r.claimed:
			tried.Left, tried.Hint = -1, r.hint
		case r.holder == "" || len(r.reading) > 0:
			r.read(a.Owner)
			tried.Free, tried.Hint = true, r.hint
		case r.until.IsZero():
			tried.Left = -1
		default:
			tried.Left = time.Until(r.until)
		}
	})
	return tried, err
}

// read is called under the mutex.
func (s *fakeServer) read(who string) {
	if s.reading == nil {
		s.reading = map[string]bool{}
	}
	s.reading[who], s.holder, s.until = true, "readers", time.Time{}
}

func (s *fakeServer) Readers() Protocol { return fakeReader{s} }

func (s *fakeServer) ReleaseTo(_ context.Context, who string, next []Candidate) (g HandoverResult, err error) {
	g.Started = s.clock()
	err = s.travel(func() {
		s.downgrades++
		if s.holder == who {
			s.read(next[0].Owner)
			g.Held, g.Owner = true, next[0].Owner
		}
	})
	return g, err
}

// free is called under the mutex.
func (s *fakeServer) free(who string) lease.Released {
	if s.reading[who] {
		if delete(s.reading, who); len(s.reading) > 0 {
			return lease.Released{Held: true}
		}
		who = s.holder
	}
	if s.holder != who {
		return lease.Released{}
	}
	s.holder, s.until = "", time.Time{}
	handlers := s.handlers
	go func() { // ends at once: the listeners do not block
		for _, h := range handlers {
			h.Message(s.e.Channel(s.Channel()), s.Channel(), "0")
		}
	}()
	return lease.Released{Held: true, Reached: s.listeners + len(handlers)}
}

func (s *fakeServer) Export(context.Context, string, string) (bool, error) { return false, errUnused }
func (s *fakeServer) Join(context.Context, string, string, time.Duration) (Tried, error) {
	return Tried{}, errUnused
}
func (s *fakeServer) Leave(context.Context, string, string) error { return errUnused }
func (s *fakeServer) Unlock(context.Context, string, string, time.Duration) (bool, error) {
	return false, errUnused
}

var errUnused = errors.New("not part of these tests")

// Renew answers every renewal at once.
func (s *fakeServer) Renew(batch []watchdog.Attempt, _ time.Duration) {
	for _, a := range batch {
		s.set(func() {
			if len(s.reading) == 0 {
				s.until = time.Now().Add(a.Length())
			}
		})
		go lease.Renewed(s.e.Keeper, a, s.clock()) // ends at once
	}
}

func (s *fakeServer) Locate(context.Context) (pubsub.Where, error) {
	return func(pubsub.Channel) (string, error) { return "node", nil }, nil
}

func (s *fakeServer) Connect(_ context.Context, _ pubsub.Line, h pubsub.Handler) (pubsub.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf != nil {
		return nil, s.deaf
	}
	return &fakeConn{s, h, make(chan error)}, nil
}

type fakeConn struct {
	s    *fakeServer
	h    pubsub.Handler
	done chan error
}

func (c *fakeConn) Subscribe(context.Context, []pubsub.Channel) ([]error, error) {
	c.s.set(func() { c.s.handlers = []pubsub.Handler{c.h} })
	return nil, nil
}

func (c *fakeConn) Unsubscribe(context.Context, []pubsub.Channel) ([]error, error) {
	c.s.set(func() { c.s.handlers = nil })
	return nil, nil
}

func (c *fakeConn) Same(context.Context, pubsub.Channel) error { return nil }

func (c *fakeConn) Done() <-chan error { return c.done }
func (c *fakeConn) Release()           {}
func (c *fakeConn) Close()             { c.s.set(func() { c.s.handlers = nil }) }

// seated is a seat that remembers how its hold ended.
type seated struct {
	mu    sync.Mutex
	cause error
}

func (s *seated) Ended(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cause = cause
}

// outcome is how an acquire ended, and when.
type outcome struct {
	held *taken
	err  error
	at   time.Duration
}

// taken is a hold and the seat that has it.
type taken struct {
	*Held
	seat *seated
}

func (h *taken) Release(ctx context.Context) error { return h.Held.Release(ctx, h.seat) }

// acquire runs one; it ends with the lock or with ctx.
func (s *fakeServer) acquire(ctx context.Context, ask Ask) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		seat := new(seated)
		held, err := s.e.Acquire(ctx, s.side(ask), ask, seat)
		out <- outcome{&taken{held, seat}, err, time.Since(s.started)}
	}()
	return out
}

// side is the one that is asked for that.
func (s *fakeServer) side(ask Ask) Protocol {
	if ask.Shared {
		return fakeReader{s}
	}
	return s
}

// take acquires at once.
func (s *fakeServer) take(t *testing.T) *taken {
	t.Helper()
	o := <-s.acquire(context.Background(), Ask{})
	require.NoError(t, o.err)
	return o.held
}

// occupy makes another process hold the lock.
func (s *fakeServer) occupy(lease time.Duration) {
	s.set(func() {
		s.holder, s.until = "another", time.Time{}
		if lease > 0 {
			s.until = time.Now().Add(lease)
		}
	})
}

// vacate makes it release the lock.
func (s *fakeServer) vacate() { s.set(func() { s.free("another") }) }

func (s *fakeServer) mustBeFree(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.holder, "the lock is held by nobody")
}

// said is how often the lock was released and given back.
func (s *fakeServer) said() (releases, givebacks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.releases, len(s.givebacks)
}
