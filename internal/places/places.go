// Package places keeps what a process shares per name, for as long as somebody
// uses it and no longer.
//
// A place comes with the first Get of its key and goes with the last Put,
// unless it still has something to remember: then it stays until its Idle says
// otherwise, and whoever comes meanwhile finds it as it was. Those that stay
// are looked at in passing, by later calls that fall into the same part of the
// table; so what has been forgotten by nobody when the last call is made stays
// until the next one.
package places

import (
	"hash/maphash"
	"sync"
)

// Entry is embedded by what stands in a table.
type Entry struct {
	refs int32 // guarded by the shard
	kept bool  // likewise: it stands in the shard's list of idle ones
}

func (e *Entry) entry() *Entry { return e }

// Placed is a pointer to a struct that embeds Entry.
type Placed interface {
	comparable
	entry() *Entry
}

// Places is a table of places by key. It is sharded, so that goroutines on
// their own keys do not meet. The functions are set before its first use; they
// are called with a shard locked, so they are quick and call nothing of it.
type Places[K comparable, P Placed] struct {
	// Make returns the place of a key that has none.
	Make func(key K) P
	// Left, unless it is nil, is told that the last reference has gone.
	Left func(p P)
	// Idle reports whether nothing would be lost by forgetting p; nil: never
	// anything.
	Idle func(p P) bool
	// Reuse, unless it is nil, makes a place that has just gone ready for
	// another key, or reports that it cannot be: somebody may know it still.
	Reuse func(p P) bool

	once   sync.Once
	seed   maphash.Seed
	shards [32]shard[K, P]
}

type shard[K comparable, P Placed] struct {
	mu    sync.Mutex
	m     map[K]P
	spare P   // one that went, for the next that comes
	kept  []K // without a reference, but with something to remember
	next  int // the one of them to be looked at next
}

func (ps *Places[K, P]) shard(key K) *shard[K, P] {
	ps.once.Do(func() { ps.seed = maphash.MakeSeed() })
	return &ps.shards[maphash.Comparable(ps.seed, key)%uint64(len(ps.shards))]
}

// Get returns the place of key and counts a reference to it. Each Get is
// followed by one Put.
func (ps *Places[K, P]) Get(key K) P {
	s := ps.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ps.sweep(s)
	p, there := s.m[key]
	if !there {
		var none P
		if p, s.spare = s.spare, none; p == none {
			p = ps.Make(key)
		}
		if s.m == nil {
			s.m = make(map[K]P)
		}
		s.m[key] = p
	}
	p.entry().refs++
	return p
}

// Put gives a reference back. The place goes with the last one, unless it has
// something to remember.
func (ps *Places[K, P]) Put(key K, p P) {
	s := ps.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := p.entry()
	if e.refs--; e.refs > 0 {
		return
	}
	if ps.Left != nil {
		ps.Left(p)
	}
	switch {
	case e.kept: // the sweep will come to it
	case ps.idle(p):
		ps.forget(s, key, p)
	default:
		e.kept = true
		s.kept = append(s.kept, key)
	}
}

func (ps *Places[K, P]) idle(p P) bool { return ps.Idle == nil || ps.Idle(p) }

func (ps *Places[K, P]) forget(s *shard[K, P], key K, p P) {
	delete(s.m, key)
	if ps.Reuse != nil && ps.Reuse(p) {
		s.spare = p
	}
}

// atOnce is how many of the kept places each Get looks at. At most one is
// added between two of them, so two are enough to keep up.
const atOnce = 2

// sweep forgets places that have nothing to remember any more.
func (ps *Places[K, P]) sweep(s *shard[K, P]) {
	for range min(atOnce, len(s.kept)) {
		if s.next >= len(s.kept) {
			s.next = 0
		}
		if key := s.kept[s.next]; !ps.goes(s, key) {
			s.next++
			continue
		}
		last := len(s.kept) - 1
		s.kept[s.next] = s.kept[last]
		clear(s.kept[last:])
		s.kept = s.kept[:last]
	}
}

// goes takes a kept place off the list, if it is in use again or idle.
func (ps *Places[K, P]) goes(s *shard[K, P], key K) bool {
	p := s.m[key]
	e := p.entry()
	if e.refs == 0 {
		if !ps.idle(p) {
			return false
		}
		ps.forget(s, key, p)
	}
	e.kept = false
	return true
}

// Each shows all places that are there all the time. F is called with a shard locked,
// as those of the table are.
func (ps *Places[K, P]) Each(f func(p P)) {
	for i := range ps.shards {
		s := &ps.shards[i]
		s.mu.Lock()
		for _, p := range s.m {
			f(p)
		}
		s.mu.Unlock()
	}
}

// Len returns how many places there are.
func (ps *Places[K, P]) Len() (n int) {
	ps.Each(func(P) { n++ })
	return n
}
