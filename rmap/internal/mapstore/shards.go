package mapstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
)

// Sharded is n hashes. The key of an entry says which hash it is in.
type Sharded struct {
	Sender // of the name, which says how many there are
	N      int
}

// Shard is one of them.
type Shard struct {
	Plain
	of *Sharded
}

func (s *Sharded) shard(i int) *Shard {
	return &Shard{Plain{Sender{Hub: s.Hub, Key: keys.Shard(s.Key, i), ids: s.ids, announces: s.announces}}, s}
}

func (s *Sharded) at(key string) *Shard { return s.shard(keys.ShardOf(key, s.N)) }

func (s *Sharded) Home(key string) string { return s.at(key).Key }

func (s *Sharded) Parts() iter.Seq[Store] {
	return func(yield func(Store) bool) {
		for i := range s.N {
			if !yield(s.shard(i)) {
				return
			}
		}
	}
}

// Object returns the name, and the shards.
func (s *Sharded) Object() []string {
	all := make([]string, 1, 1+s.N)
	all[0] = s.Key
	for i := range s.N {
		all = append(all, keys.Shard(s.Key, i))
	}
	return all
}

// check refuses to look for entries, and to add some, where others do not. What
// adds none leaves no trace where there is no map.
func (s *Sharded) check(ctx context.Context, adds bool) error {
	n, err := s.Hub.shardsOf(ctx, shardsKey{s.Key, adds}, s.N)
	switch {
	case send.WrongType(err):
		return fmt.Errorf("key %q is no sharded map: %w", s.Key, err)
	case err != nil:
		return err
	case n != 0 && n != s.N:
		return fmt.Errorf("%w: it has %d shards, and this handle was made for %d", core.ErrInvalidArgument, n, s.N)
	}
	return nil
}

// named names the shard of another type.
func (p *Shard) named(err error) error {
	if send.WrongType(err) {
		return fmt.Errorf("shard %q is no hash: %w", p.Key, err)
	}
	return err
}

// about returns an exchange about one entry.
func about[T any](ctx context.Context, s *Sharded, adds bool, key string, call func(p *Shard) (T, error)) (result T, err error) {
	if err = s.check(ctx, adds); err != nil {
		return result, err
	}
	p := s.at(key)
	result, err = call(p)
	return result, p.named(err)
}

// mostShards is how many shards are asked at once.
const mostShards = 32

// each calls for shards, some at the same time, and returns an error of theirs. After one it begins no more.
//
// An errgroup.Group does not do: an error that leaves the outcome unknown counts before the first one, the goroutines
// are the engine's, and a call about one shard needs none.
func (s *Sharded) each(ctx context.Context, adds bool, which []int, call func(i int, p *Shard) error) error {
	if err := s.check(ctx, adds); err != nil {
		return err
	}
	var done struct {
		next atomic.Int64
		over atomic.Bool
		sync.Mutex
		err error
	}
	work := func() {
		for !done.over.Load() {
			i := int(done.next.Add(1)) - 1
			if i >= len(which) {
				return
			}
			var err error
			if ctx.Err() != nil {
				err = core.ContextError(ctx)
			} else {
				p := s.shard(which[i])
				err = p.named(call(i, p))
			}
			if err == nil {
				continue
			}
			done.over.Store(true)
			done.Lock()
			if done.err == nil || errors.Is(err, core.ErrOutcomeUnknown) {
				done.err = err
			}
			done.Unlock()
		}
	}
	var all sync.WaitGroup
	for range min(len(which), mostShards) - 1 {
		all.Add(1)
		if !s.Hub.Engine.Spawn(func() { defer all.Done(); work() }) { // ends with the calls
			all.Done()
		}
	}
	work()
	all.Wait()
	return done.err
}

// All returns the numbers of all shards.
func (s *Sharded) All() []int {
	all := make([]int, s.N)
	for i := range all {
		all[i] = i
	}
	return all
}

// split is some of what a call is about, by shards.
type split struct {
	which []int   // shards
	items [][]int // of each, the positions of its keys
}

// split sorts the keys of a list by shard. Every step-th text of the list is a key.
func (s *Sharded) split(texts []string, step int) (by split) {
	place := map[int]int{}
	for i := 0; i < len(texts); i += step {
		in := keys.ShardOf(texts[i], s.N)
		at, seen := place[in]
		if !seen {
			at = len(by.which)
			place[in] = at
			by.which, by.items = append(by.which, in), append(by.items, nil)
		}
		by.items[at] = append(by.items[at], i)
	}
	return by
}

// pick returns the texts at those positions, each with the texts that belong to it.
func pick(texts []string, items []int, step int) []string {
	some := make([]string, 0, step*len(items))
	for _, i := range items {
		some = append(some, texts[i:i+step]...)
	}
	return some
}

func (s *Sharded) Get(ctx context.Context, key string) (Value, error) {
	return about(ctx, s, false, key, func(p *Shard) (Value, error) { return p.Get(ctx, key) })
}

func (s *Sharded) GetMany(ctx context.Context, names []string) ([]Value, error) {
	by, all := s.split(names, 1), make([]Value, len(names))
	err := s.each(ctx, false, by.which, func(at int, p *Shard) error {
		got, err := p.GetMany(ctx, pick(names, by.items[at], 1))
		for i, v := range got {
			all[by.items[at][i]] = v
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (s *Sharded) Has(ctx context.Context, key string) (bool, error) {
	return about(ctx, s, false, key, func(p *Shard) (bool, error) { return p.Has(ctx, key) })
}

func (s *Sharded) Length(ctx context.Context) (int64, error) {
	return s.Sum(ctx, false, s.All(), func(_ int, p *Shard) (int64, error) { return p.Length(ctx) })
}

// Sum adds up the answers of shards: those that there are, if it fails.
func (s *Sharded) Sum(ctx context.Context, adds bool, which []int, call func(i int, p *Shard) (int64, error)) (int64, error) {
	var sum atomic.Int64
	err := s.each(ctx, adds, which, func(i int, p *Shard) error {
		n, err := call(i, p)
		sum.Add(n)
		return err
	})
	return sum.Load(), err
}

func (s *Sharded) Put(ctx context.Context, pairs []string, l Lifetime) error {
	by := s.split(pairs, 2)
	return s.each(ctx, true, by.which, func(at int, p *Shard) error {
		return p.Put(ctx, pick(pairs, by.items[at], 2), l)
	})
}

func (s *Sharded) Remove(ctx context.Context, names []string) (int64, error) {
	by := s.split(names, 1)
	return s.Sum(ctx, false, by.which, func(at int, p *Shard) (int64, error) {
		return p.Remove(ctx, pick(names, by.items[at], 1))
	})
}

func (s *Sharded) Clear(ctx context.Context) error {
	return s.each(ctx, false, s.All(), func(_ int, p *Shard) error { return p.Clear(ctx) })
}

func (s *Sharded) Swap(ctx context.Context, key, text string, l Lifetime) (Value, error) {
	return about(ctx, s, true, key, func(p *Shard) (Value, error) { return p.Swap(ctx, key, text, l) })
}

func (s *Sharded) Take(ctx context.Context, key string) (Value, error) {
	return about(ctx, s, false, key, func(p *Shard) (Value, error) { return p.Take(ctx, key) })
}

func (s *Sharded) PutIfAbsent(ctx context.Context, key, text string, l Lifetime) (Value, error) {
	return about(ctx, s, true, key, func(p *Shard) (Value, error) { return p.PutIfAbsent(ctx, key, text, l) })
}

func (s *Sharded) Replace(ctx context.Context, key, text string, l Lifetime) (bool, error) {
	return about(ctx, s, false, key, func(p *Shard) (bool, error) { return p.Replace(ctx, key, text, l) })
}

func (s *Sharded) Change(ctx context.Context, key string, old, to Value, l Lifetime, c *turn.Claim) (there Value, done bool, err error) {
	there, err = about(ctx, s, to.There && !old.There, key, func(p *Shard) (v Value, err error) {
		v, done, err = p.Change(ctx, key, old, to, l, c)
		return v, err
	})
	return there, done, err
}

func (s *Sharded) Add(ctx context.Context, key string, by Addend, l Lifetime) (Value, error) {
	return about(ctx, s, true, key, func(p *Shard) (Value, error) { return p.Add(ctx, key, by, l) })
}

// Scan is not asked of all shards at once: see Parts.
func (s *Sharded) Scan(ctx context.Context, a Asked) (ScanPage, error) {
	return s.shard(0).Scan(ctx, a)
}

func (p *Shard) Scan(ctx context.Context, a Asked) (page ScanPage, err error) {
	if err = p.of.check(ctx, false); err == nil {
		page, err = p.Plain.Scan(ctx, a)
	}
	return page, p.named(err)
}
