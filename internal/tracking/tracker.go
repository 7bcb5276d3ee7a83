package tracking

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// ErrClosed is returned once the owner has been closed.
var ErrClosed = errors.New("tracking: closed")

// errSilent says that a node has not answered in time.
var errSilent = errors.New("the tracked connection is silent")

// Options tune a Tracker.
type Options struct {
	// PerKey has the nodes asked again for each key that is used, as on a cluster,
	// where a slot may be another node's by now. Else they are asked for their role.
	PerKey bool
	// Spawn runs f on a goroutine that the owner's Close waits for.
	Spawn func(f func()) bool
	// Closing ends the tracker.
	Closing <-chan struct{}
	Logger  *slog.Logger
	// Patience bounds one exchange, and is how long the first connection to a node
	// is waited for.
	Patience time.Duration
}

// Tracker watches keys. It is safe for concurrent use.
type Tracker struct {
	src  Source
	opts Options

	mu      sync.Mutex // nothing is called under it but what does not block
	watches map[string]map[*Watch]struct{}
	nodes   map[string]*node
	beat    time.Duration
	beats   map[time.Duration]int // what watches ask for, and how many of them
}

// slowest and fastest bound how often nodes are asked.
const (
	slowest = time.Second
	fastest = 20 * time.Millisecond
)

// New returns a tracker, which does nothing until the first watch is armed.
func New(src Source, opts Options) *Tracker {
	if opts.Patience == 0 {
		opts.Patience = time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Tracker{src: src, opts: opts, watches: map[string]map[*Watch]struct{}{}, nodes: map[string]*node{}, beat: slowest, beats: map[time.Duration]int{}}
}

// Watch has to told of key, and asked about at least every third of silence; and
// told of others that are of its slot, there or not. It sends nothing.
func (t *Tracker) Watch(key string, silence time.Duration, to Listener, others ...string) *Watch {
	w := &Watch{t: t, key: key, keys: append([]string{key}, others...), to: to, beat: min(max(silence/3, fastest), slowest)}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range w.keys {
		if t.watches[key] == nil {
			t.watches[key] = map[*Watch]struct{}{}
		}
		t.watches[key][w] = struct{}{}
	}
	t.beats[w.beat]++
	t.beat = min(t.beat, w.beat)
	return w
}

// ended has nodes asked no more often than the watches need that are left.
func (t *Tracker) ended(w *Watch) {
	if t.beats[w.beat]--; t.beats[w.beat] > 0 {
		return
	}
	delete(t.beats, w.beat)
	t.beat = slowest
	for beat := range t.beats {
		t.beat = min(t.beat, beat)
	}
}

// changed tells who watches the keys; nil is all that are armed at n.
func (t *Tracker) changed(n *node, keys []string) {
	t.mu.Lock()
	var told []*Watch
	if keys == nil {
		for w := range n.watches {
			told = append(told, w)
		}
	}
	for _, key := range keys {
		for w := range t.watches[key] {
			told = append(told, w)
		}
	}
	t.mu.Unlock()
	for _, w := range told {
		w.to.Dropped()
	}
}

// nodeOf returns the node of that address, with its goroutine.
func (t *Tracker) nodeOf(addr string) (*node, error) {
	if n := t.nodes[addr]; n != nil {
		return n, nil
	}
	n := &node{t: t, addr: addr, opened: make(chan struct{}), watches: map[*Watch]struct{}{}}
	if !t.opts.Spawn(n.run) { // ends when nothing is watched there, or with Closing
		return nil, ErrClosed
	}
	t.nodes[addr] = n
	return n, nil
}

// Nodes returns how many nodes have a connection, or are to have one.
func (t *Tracker) Nodes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.nodes)
}

// Watches returns how many there are.
func (t *Tracker) Watches() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, all := range t.watches {
		for w := range all {
			if w.key == key {
				n++
			}
		}
	}
	return n
}

func (t *Tracker) bounded(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, t.opts.Patience)
}
