package rueidissontest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// Server is a server inside the test process. Its methods may be called from
// any goroutine.
type Server struct {
	embedded *embedded.Server

	mu    sync.Mutex
	moved []func()
}

// Option changes how [NewServer] starts a server.
type Option interface{ apply(*settings) }

type settings struct{ manual bool }

type option func(*settings)

func (o option) apply(s *settings) { o(s) }

// WithManualClock makes the server's clock stand until [Server.Forward] moves
// it. It starts at the machine's time.
func WithManualClock() Option { return option(func(s *settings) { s.manual = true }) }

// NewServer starts an empty server, which is stopped when t ends. It fails t if
// no port of 127.0.0.1 can be listened on.
func NewServer(t testing.TB, opts ...Option) *Server {
	t.Helper()
	var chosen settings
	for _, o := range opts {
		o.apply(&chosen)
	}
	start := embedded.Start
	if chosen.manual {
		start = embedded.StartManual
	}
	e, err := start()
	if err != nil {
		t.Fatalf("rueidissontest: %v", err)
	}
	t.Cleanup(e.Close)
	return &Server{embedded: e}
}

// Addr returns "127.0.0.1:port", for a client of one's own; see [Server.ClientOption].
func (s *Server) Addr() string { return s.embedded.Addr() }

// ClientOption returns how rueidis has to be told to talk to the server: for
// rueidisson.New in code that connects on its own, or for a plain rueidis
// client that prepares data or looks at the keys.
func (s *Server) ClientOption() rueidis.ClientOption { return s.embedded.ClientOption() }

// URL returns [Server.ClientOption] as a URL, for rueidisson.Open or another process.
func (s *Server) URL() string { return s.embedded.URL() }

// Forward moves the server's clock on by d, at once. Keys whose time is over
// then have expired for every later command. Waiters for a lock, for
// permits, at a latch or a barrier that wait in the machine's time are woken to look again, before their
// try is over. Expired entries of caches are swept, with their events; elements of
// delayed queues that are due are moved. Apart from that the clients' own clocks do not move; see the package's documentation.
//
// It panics if d is negative: Redis has no way back either.
func (s *Server) Forward(d time.Duration) {
	if d < 0 {
		panic("rueidissontest: time does not go back")
	}
	s.embedded.Forward(d)
	// A key that expires announces nothing, and a waiter sleeps by a clock that
	// has not moved. A message is no more than a hint, so a false one is harmless.
	s.embedded.Announce(lockChannels, "0")
	s.embedded.Announce(semaphoreChannels, "1")
	s.embedded.Announce(latchChannels, "0")
	s.embedded.Announce(barrierChannels, "0")
	s.mu.Lock()
	moved := slices.Clone(s.moved)
	s.mu.Unlock()
	for _, f := range moved {
		f()
	}
}

// along has a client's clock go with the server's, where its objects count in the
// client's time.
type along struct{ s *Server }

func (a along) Apply(c *core.Config) error { c.Clock = a; return nil }
func (a along) Now() time.Time             { return a.s.embedded.Now() }

func (a along) Moved(f func()) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.s.moved = append(a.s.moved, f)
}

// lockChannels matches the channels of all locks, whatever their names, and
// semaphoreChannels those of semaphores, which ignore a 0, latchChannels and
// barrierChannels those of latches and barriers.
var (
	lockChannels      = strings.TrimSuffix(keys.LockChannel("{"), "{") + "*"
	semaphoreChannels = strings.TrimSuffix(keys.SemaphoreChannel("{"), "{") + "*"
	barrierChannels   = strings.TrimSuffix(keys.BarrierChannel("{"), "{") + "*"
	latchChannels     = strings.TrimSuffix(keys.LatchChannel(""), "{}") + "*"
)
