package counter

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

const (
	// idsKept is how long the blocks of a name stay after their last use.
	idsKept = time.Minute
	// mostGenerators bounds the names of a client that have blocks.
	mostGenerators = 10_000
	// looked is how many names are looked at for one that makes room.
	looked = 8

	// shortBlock is how long a block lasts if the client takes one at a time, and ahead how long several last.
	shortBlock = 10 * time.Millisecond
	ahead      = 100 * time.Millisecond
	// mostAhead bounds the ids of several blocks.
	mostAhead = 1 << 20
)

// generators has the blocks of a client, by name.
type generators struct {
	h    *hub
	kept time.Duration

	mu sync.Mutex
	of map[string]*blocks
}

// blocks is what a client has of one generator.
//
//	present   ──── ids are taken from it, without a mutex; at half of it a fetch begins
//	next      ──── what that fetch has brought; it becomes the present one when that is used up
//	fetch     ──── under way: at most one, so that the server is told of all ids that came before
type blocks struct {
	h       *hub
	keys    []string
	present atomic.Pointer[block]
	gone    atomic.Bool // others are in the table, or none

	mu    sync.Mutex
	next  *block
	fetch *fetch
	size  int64  // of a block on the server; 0: not known
	after string // what comes after the highest id so far; empty: there was none

	// Of the table, under its mutex: what was used when it was looked at, and when that was so first.
	used  usage
	since time.Duration
}

// usage tells uses of blocks apart.
type usage struct {
	of   *block
	next int64
}

// block is ids in a row. What each call writes has a cache line of its own.
type block struct {
	start, size int64
	mark        atomic.Int64  // how many are taken when the next block is fetched
	opened      time.Duration // when it became the present one
	before      int64         // the size of the one before it; 0: there was none
	since       time.Duration // when that became the present one
	_           [64]byte
	next        atomic.Int64 // how many are taken; callers who find none count, too
	_           [64]byte
}

// never is a mark that no block reaches.
const never = math.MaxInt64

// fetch is a script call for ids.
type fetch struct {
	n    int64         // so many, for one caller; 0: blocks, for all
	done chan struct{} // closed when the rest is there
	from int64         // of n ids
	err  error
}

// get returns the blocks of a generator.
func (g *generators) get(o *whole.Object) *blocks {
	g.mu.Lock()
	defer g.mu.Unlock()
	bs := g.of[o.Key]
	if bs != nil {
		return bs
	}
	if len(g.of) >= mostGenerators {
		g.makeRoom()
	}
	bs = &blocks{h: g.h, keys: o.Keys, since: g.h.e.Mono()}
	bs.present.Store(&block{})
	bs.used = bs.usage()
	g.add(o.Key, bs)
	return bs
}

// add puts blocks into the table, which is swept as long as there are some.
func (g *generators) add(key string, bs *blocks) {
	g.of[key] = bs
	if len(g.of) == 1 {
		g.h.e.Due(core.Key{Kind: "ids", Name: "ids"}, g.kept/6, g.sweep)
	}
}

// makeRoom drops the blocks of one name: the one of a few that was not used for longest.
func (g *generators) makeRoom() {
	var name string
	var longest *blocks
	n := 0
	for key, bs := range g.of { // in no order
		if longest == nil || bs.since < longest.since {
			name, longest = key, bs
		}
		if n++; n == looked {
			break
		}
	}
	g.drop(name)
}

// drop drops the blocks of a name.
func (g *generators) drop(key string) {
	if bs := g.of[key]; bs != nil {
		bs.gone.Store(true)
		delete(g.of, key)
	}
}

// takeOut drops the blocks of a name, and returns them, nil if there are none.
func (g *generators) takeOut(key string) *blocks {
	g.mu.Lock()
	defer g.mu.Unlock()
	bs := g.of[key]
	g.drop(key)
	return bs
}

// putBack has a name use blocks again that were taken out, unless it has others by now.
func (g *generators) putBack(key string, bs *blocks) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of[key] == nil {
		bs.gone.Store(false)
		g.add(key, bs)
	}
}

// sweep drops blocks that are not used any more, and says when to look next.
func (g *generators) sweep() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.h.e.Mono()
	for key, bs := range g.of {
		if used := bs.usage(); used != bs.used {
			bs.used, bs.since = used, now
		} else if now-bs.since >= g.kept && !bs.fetching() {
			g.drop(key)
		}
	}
	if len(g.of) == 0 {
		return -1
	}
	return g.kept / 6
}

func (bs *blocks) usage() usage {
	b := bs.present.Load()
	return usage{b, b.next.Load()}
}

func (bs *blocks) fetching() bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return bs.fetch != nil
}

// idle waits until no fetch is under way. None begins ahead of callers any more, since the blocks are gone.
func (bs *blocks) idle(ctx context.Context) error {
	bs.mu.Lock()
	f := bs.fetch
	bs.mu.Unlock()
	if f == nil {
		return nil
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return core.ContextError(ctx)
	}
}

// row takes n ids in a row, if there are as many.
func (b *block) row(n int64) (from int64, there bool) {
	for {
		taken := b.next.Load()
		if taken > b.size-n {
			return 0, false
		}
		if b.next.CompareAndSwap(taken, taken+n) {
			return b.start + taken, true
		}
	}
}

// take takes n ids in a row. If they are not there, it returns the fetch after which to try again, or the caller's own fetch of
// n ids.
func (bs *blocks) take(n int64) (from int64, there bool, f *fetch, own bool) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.present.Load()
	if from, there = b.row(n); there {
		if b.next.Load() >= b.mark.Load() {
			bs.fetchNext(b)
		}
		return from, true, nil, false
	}
	if bs.next != nil && b.next.Load() >= b.size {
		b = bs.open(bs.next)
		bs.next = nil
		if from, there = b.row(n); there {
			if b.next.Load() >= b.mark.Load() {
				bs.fetchNext(b)
			}
			return from, true, nil, false
		}
	}
	if bs.next != nil {
		if from, there = bs.next.row(n); there { // the present block has fewer left, which stay for others
			return from, true, nil, false
		}
	}
	switch {
	case bs.fetch != nil:
		return 0, false, bs.fetch, false
	case bs.next == nil && (bs.size == 0 || n <= bs.size):
		return 0, false, bs.begin(0, b.wants(bs.h.e.Mono(), bs.size)), false
	}
	return 0, false, bs.begin(n, 0), true
}

// open makes a block the present one.
func (bs *blocks) open(b *block) *block {
	last := bs.present.Load()
	b.before, b.since, b.opened = last.size, last.opened, bs.h.e.Mono()
	bs.present.Store(b)
	return b
}

// ahead has the next block fetched, if b is the present one and half of it is used.
func (bs *blocks) ahead(b *block) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.fetchNext(b)
}

func (bs *blocks) fetchNext(b *block) {
	if bs.gone.Load() || bs.present.Load() != b || b.mark.Swap(never) == never || bs.next != nil || bs.fetch != nil {
		return
	}
	bs.begin(0, b.wants(bs.h.e.Mono(), bs.size))
}

// wants returns how many ids to take at once, if a block of that size lasts for a short time only; else 0. It goes by this
// block and the one before it: the first id of a block is taken as soon as it is there, which says nothing.
func (b *block) wants(now time.Duration, size int64) int64 {
	if b.before == 0 {
		return 0
	}
	taken := float64(b.before + min(b.next.Load(), b.size))
	took := float64(max(now-b.since, time.Microsecond))
	if float64(size)*took >= float64(shortBlock)*taken {
		return 0
	}
	return int64(min(taken/took*float64(ahead), mostAhead))
}

// begin starts a fetch of n ids, or of as many blocks as have most ids.
func (bs *blocks) begin(n, most int64) *fetch {
	f := &fetch{n: n, done: make(chan struct{})}
	bs.fetch = f
	after := bs.after
	if !bs.h.e.Spawn(func() { bs.run(f, after, most) }) { // ends with the call
		bs.fetch, f.err = nil, ErrClosed
		close(f.done)
	}
	return f
}

// run makes the call, and tells all who wait.
func (bs *blocks) run(f *fetch, after string, most int64) {
	got, size, err := bs.ask(after, most, f.n)
	bs.mu.Lock()
	defer bs.mu.Unlock()
	defer close(f.done)
	bs.fetch = nil
	b := bs.present.Load()
	if err != nil {
		f.err = err
		if b.next.Load() < b.size { // what is left lasts: it is tried again at the half of that
			b.mark.Store(b.next.Load() + (b.size-b.next.Load())/2 + 1)
		}
		return
	}
	bs.size, bs.after = size, decimal(got.start+got.size)
	switch {
	case f.n > 0:
		f.from = got.start
		if bs.next == nil {
			b.mark.CompareAndSwap(never, b.next.Load()) // a fetch of blocks may have been put off for this one
		}
	case b.next.Load() >= b.size:
		bs.open(got)
	default:
		bs.next = got
	}
}

// ask takes ids from the server.
func (bs *blocks) ask(after string, most, n int64) (got *block, size int64, err error) {
	e, args := bs.h.e, []string{after, decimal(most), decimal(n)}
	var said send.Answer
	if e.ReplicaAcks == 0 {
		said, err = e.Run(context.Background(), idsBlock, bs.keys, args)
	} else {
		var acks int64
		said, acks, err = e.RunAcked(context.Background(), idsBlockScript, bs.keys, args)
		if err == nil && acks < int64(e.ReplicaAcks) {
			err = fmt.Errorf("%w: fewer than %d within %v", ErrNotReplicated, e.ReplicaAcks, e.AckTimeout)
		}
	}
	switch {
	case saysThat(err, exhausted):
		return nil, 0, ErrExhausted
	case saysThat(err, blockSize):
		return nil, 0, errBlockSize
	case err != nil:
		return nil, 0, bs.h.explain(context.Background(), bs.keys[0], err)
	}
	numbers, err := said.AsIntSlice() // of texts, too
	if err == nil && len(numbers) != 3 {
		err = fmt.Errorf("a block of ids has %d parts", len(numbers))
	}
	if err != nil {
		return nil, 0, err
	}
	got = &block{start: numbers[0], size: numbers[1]}
	got.mark.Store(got.size / 2)
	return got, numbers[2], nil
}
