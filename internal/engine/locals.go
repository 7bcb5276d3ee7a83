package engine

import (
	"hash/maphash"
	"sync"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Key says which holds are the same lock to this process: its kind, as locks
// of two kinds under one name do not share their protocol, and the mapped name.
type Key struct {
	Kind string
	Name string
}

// local is what the waiters and holders of one process share for one key.
type local struct {
	queue    handover.Queue[*Held]
	courtesy handover.Courtesy
	poke     chan struct{} // another's release was heard, or the subscription stands again; made by the first head that listens

	mu  sync.Mutex
	sub *pubsub.Subscription // kept while somebody waits

	refs int  // guarded by the shard
	kept bool // likewise: it stands in the shard's list of idle ones
}

// locals finds the local of a key. It is sharded, so that goroutines on their
// own keys do not meet.
type locals struct {
	seed   maphash.Seed
	shards [32]shard
	once   sync.Once
}

type shard struct {
	mu    sync.Mutex
	m     map[Key]*local
	spare *local // one that went, for the next that comes
	kept  []Key  // idle, but with a courtesy to remember; oldest first
}

func (ls *locals) shard(key Key) *shard {
	ls.once.Do(func() { ls.seed = maphash.MakeSeed() })
	return &ls.shards[maphash.String(ls.seed, key.Name)%uint64(len(ls.shards))]
}

// get returns the local of key and counts a reference to it.
func (ls *locals) get(key Key) *local {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	l := s.m[key]
	if l == nil {
		if s.m == nil {
			s.m = make(map[Key]*local)
		}
		if l = s.spare; l != nil {
			s.spare = nil
		} else {
			l = &local{}
		}
		s.m[key] = l
	}
	l.refs++
	return l
}

// put gives the reference back. The local goes with the last one, unless it
// remembers whom to stand back for.
func (ls *locals) put(key Key, l *local) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs > 0 {
		return
	}
	l.quiet()
	if l.kept {
		return // the sweep will come to it
	}
	if l.courtesy.Idle() {
		delete(s.m, key)
		if l.poke == nil { // nobody has listened with it, so nobody else knows it
			l.courtesy = handover.Courtesy{}
			s.spare = l
		}
		return
	}
	l.kept = true
	s.kept = append(s.kept, key)
}

// sweep forgets locals that have been idle for longer than they remember.
func (s *shard) sweep() {
	for len(s.kept) > 0 {
		key := s.kept[0]
		l := s.m[key]
		if l.refs == 0 {
			if !l.courtesy.Idle() {
				return
			}
			delete(s.m, key)
		}
		l.kept = false
		s.kept = s.kept[1:]
	}
}

// listener is how the hub tells a local about its channel.
func (l *local) listener() func(pubsub.Event) {
	return func(ev pubsub.Event) {
		if ev.Kind == pubsub.Resumed {
			l.courtesy.Reset()
		} else if !l.courtesy.Message() {
			return
		}
		l.wake()
	}
}

// hush forgets a release that was heard before a try: the try comes after it.
func (l *local) hush() {
	select {
	case <-l.poke:
	default:
	}
}

func (l *local) wake() {
	select {
	case l.poke <- struct{}{}:
	default: // one is enough: the head tries again after it
	}
}
