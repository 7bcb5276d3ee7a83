package poller

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errFinal   = errors.New("final")
	errPassing = errors.New("passing")
	errMoving  = errors.New("moving")
	errUnknown = errors.New("unknown")
)

// fake is a server with queues in memory, and the client of the poller.
type fake struct {
	mu      sync.Mutex
	news    chan struct{} // closed at each change
	queues  map[string][]Item
	bad     map[string]error // what a pop of a name says
	unseen  map[string]error // what a look at a name says
	refuses map[string]error // what a pop of a name in a pipeline says
	down    error            // what every command says
	silent  error            // what every connect says, while no command is answered
	popped  []int64          // bytes of each pop
	slow    time.Duration    // how long a connection takes for a pop
	lost    int
	back    map[string][]Item
	backs   int
	conns   int
	most    int // connections at once
	made    int
	blocks  int // commands that blocked
	looks   int
	common  int // pops by the connection that everything goes by
	slots   int // 0: one
	deaf    bool
	early   int // so many words to end a command come before it blocks
	stuck   bool
	closing chan struct{}
	tasks   sync.WaitGroup
}

func newFake() *fake {
	return &fake{
		news: make(chan struct{}), queues: map[string][]Item{}, bad: map[string]error{}, back: map[string][]Item{},
		unseen: map[string]error{}, refuses: map[string]error{}, closing: make(chan struct{}),
	}
}

// options are those of a poller whose times are far apart.
var options = Options{
	Connections: 2, Bear: 30 * time.Second, Block: 5 * time.Second, Turn: 200 * time.Millisecond,
	Short: 50 * time.Millisecond, Linger: time.Second, Grace: 3 * time.Second,
}

// inBubble runs a test with a clock that moves by itself. A goroutine that is left
// fails it.
func inBubble(t *testing.T, test func(t *testing.T, f *fake, p *Poller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		test(t, f, New(f, options))
		f.close()
	})
}

func (f *fake) close() {
	f.mu.Lock()
	select {
	case <-f.closing:
	default:
		close(f.closing)
	}
	f.mu.Unlock()
	f.tasks.Wait()
}

// change does something, and has everybody look.
func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.news)
	f.news = make(chan struct{})
}

func (f *fake) push(name string, texts ...string) {
	f.change(func() {
		for _, text := range texts {
			f.queues[name] = append(f.queues[name], Item{Text: text})
		}
	})
}

func (f *fake) Slot(key string) uint16 {
	if f.slots == 0 {
		return 0
	}
	return uint16(crc32.ChecksumIEEE([]byte(key)) % uint32(f.slots))
}

func (f *fake) Node(uint16) string       { return "node" }
func (f *fake) Closing() <-chan struct{} { return f.closing }
func (f *fake) Lost(error)               { f.change(func() { f.lost++ }) }

func (f *fake) Spawn(run func()) bool {
	select {
	case <-f.closing:
		return false
	default:
	}
	f.tasks.Go(run)
	return true
}

func (f *fake) Judge(err error) Verdict {
	switch {
	case errors.Is(err, errPassing):
		return Passing
	case errors.Is(err, errMoving):
		return Moving
	case errors.Is(err, errUnknown):
		return Unknown
	}
	return Final
}

func (f *fake) PutBack(_ *Kind, key string, items []Item) {
	f.change(func() { f.backs++; f.back[key] = append(f.back[key], items...) })
}

func (f *fake) Pop(_ *Kind, key string, n int) ([]Item, error) {
	f.change(func() { f.common++ })
	return f.pop(key, n)
}

func (f *fake) Pop0(_ *Kind, key string) error { _, err := f.pop(key, 0); return err }

func (f *fake) Replied(err error) bool { return !errors.Is(err, errUnknown) }

func (f *fake) pop(key string, n int) (items []Item, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.bad[key]; err != nil {
		return nil, err
	}
	n = min(n, len(f.queues[key]))
	items, f.queues[key] = slices.Clone(f.queues[key][:n]), f.queues[key][n:]
	bytes := int64(0)
	for _, it := range items {
		bytes += int64(len(it.Text))
	}
	f.popped = append(f.popped, bytes)
	return items, nil
}

func (f *fake) Connect(context.Context, string) (Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmp.Or(f.down, f.silent); err != nil {
		return nil, err
	}
	f.conns++
	f.made++
	f.most = max(f.most, f.conns)
	return &fakeConn{f: f, ends: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type fakeConn struct {
	f        *fake
	ends     chan struct{}
	closed   chan struct{}
	once     sync.Once
	blocking bool
	ignored  int
}

func (c *fakeConn) Block(k *Kind, keys []string, timeout time.Duration, _ int64) (had []string, it Item, ok bool, err error) {
	f := c.f
	f.mu.Lock()
	c.blocking = true
	f.blocks++
	f.mu.Unlock()
	defer func() { f.mu.Lock(); c.blocking = false; f.mu.Unlock() }()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		f.mu.Lock()
		news, down, silent := f.news, f.down, f.silent != nil
		f.mu.Unlock()
		if silent {
			select {
			case <-c.closed:
			case <-timer.C:
			}
			return nil, it, false, errUnknown
		}
		if down != nil {
			return nil, it, false, down
		}
		for _, key := range keys {
			items, err := f.pop(key, 1)
			if err != nil || len(items) > 0 {
				return []string{key}, first(items), err == nil, err
			}
		}
		select {
		case <-news:
		case <-timer.C:
			return nil, it, false, nil
		case <-c.ends:
			return nil, it, false, nil
		case <-c.closed:
			return nil, it, false, errUnknown
		}
	}
}

func first(items []Item) (it Item) {
	if len(items) > 0 {
		it = items[0]
	}
	return it
}

func (c *fakeConn) Pop(_ *Kind, key string, n int, _ int64) ([]Item, error) {
	time.Sleep(c.f.slow)
	return c.f.pop(key, n)
}

func (c *fakeConn) PopEach(all []Look, _ int64) []Popped {
	time.Sleep(c.f.slow)
	popped := make([]Popped, len(all))
	for i, one := range all {
		if popped[i].Err = c.f.refuses[one.Name]; popped[i].Err == nil {
			popped[i].Items, popped[i].Err = c.f.pop(one.Name, 1)
		}
	}
	return popped
}

func (c *fakeConn) Look(all []Look) []Seen {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	seen := make([]Seen, len(all))
	for i, one := range all {
		c.f.looks++
		err := cmp.Or(c.f.down, c.f.bad[one.Name], c.f.unseen[one.Name])
		if c.f.silent != nil {
			err = errUnknown
		}
		seen[i] = Seen{len(c.f.queues[one.Name]) > 0, err}
	}
	return seen
}

func (c *fakeConn) Unblock() (bool, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.f.stuck || !c.blocking || c.ignored < c.f.early {
		c.ignored++
		return false, nil
	}
	select {
	case c.ends <- struct{}{}:
	default:
	}
	return true, nil
}

func (c *fakeConn) Deaf() bool { return c.f.deaf }

func (c *fakeConn) Close() {
	c.once.Do(func() {
		close(c.closed)
		c.f.mu.Lock()
		c.f.conns--
		c.f.mu.Unlock()
	})
}
