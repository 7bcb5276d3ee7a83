package enginetest

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Outcomes is an observer that writes down what is refused, unknown, or given up.
type Outcomes struct {
	mu  sync.Mutex
	all []string
}

func (o *Outcomes) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, fmt.Sprintf(format, args...))
}

// Take returns what was written down since the last time.
func (o *Outcomes) Take() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all, o.all = o.all, nil
	return all
}

func (o *Outcomes) Refused(kind, name string) { o.note("refused %s %s", kind, name) }

func (o *Outcomes) Unknown(kind, name, operation string, _ error) {
	o.note("unknown %s %s: %s", kind, name, operation)
}

func (o *Outcomes) GaveUp(g core.GaveUp) {
	o.note("gave up %s %s: %s %d", g.Kind, g.Name, g.Op, g.Amount)
}

// Batches is an observer of combined calls. It notes for how many calls each exchange is.
type Batches struct {
	mu sync.Mutex
	of map[string][]int
}

// To has a client tell this observer.
func (b *Batches) To(c *core.Config) { c.Batches = b }

func (b *Batches) CallsSent(kind string, calls int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string][]int{}
	}
	b.of[kind] = append(b.of[kind], calls)
}

// Take returns what was noted of a kind since the last time.
func (b *Batches) Take(kind string) (calls []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls = b.of[kind]
	delete(b.of, kind)
	return calls
}

// Log is what a client has logged as a warning.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// To has a client log here.
func (l *Log) To(c *core.Config) {
	c.Logger = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Has returns whether a text was logged.
func (l *Log) Has(text string) bool { return strings.Contains(l.String(), text) }

// Clock is a clock of clients that is moved by hand.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	moved []func()
}

// NewClock returns one that says 2027, a whole second.
func NewClock() *Clock { return &Clock{now: time.UnixMilli(1_800_000_000_000)} }

// To has a client go by the clock.
func (c *Clock) To(cfg *core.Config) { cfg.Clock = c }

func (c *Clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *Clock) Moved(f func()) { c.mu.Lock(); defer c.mu.Unlock(); c.moved = append(c.moved, f) }

// Forward moves the clock on.
func (c *Clock) Forward(d time.Duration) {
	c.move(func(now time.Time) time.Time { return now.Add(d) })
}

// Pass is [Clock.Forward] that nobody is told of.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set moves the clock to that time.
func (c *Clock) Set(at time.Time) { c.move(func(time.Time) time.Time { return at }) }

func (c *Clock) move(to func(now time.Time) time.Time) {
	c.mu.Lock()
	c.now = to(c.now)
	moved := slices.Clone(c.moved)
	c.mu.Unlock()
	for _, f := range moved {
		f()
	}
}
