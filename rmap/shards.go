package rmap

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
)

// sharded is n hashes. The key of an entry says which hash it is in.
type sharded struct {
	sender // of the name, which says how many there are
	n      int
}

// shard is one of them.
type shard struct {
	plain
	of *sharded
}

func (s *sharded) shard(i int) *shard {
	return &shard{plain{sender{h: s.h, key: keys.Shard(s.key, i), ids: s.ids, announces: s.announces}}, s}
}

func (s *sharded) at(key string) *shard { return s.shard(keys.ShardOf(key, s.n)) }

func (s *sharded) home(key string) string { return s.at(key).key }

func (s *sharded) parts() iter.Seq[store] {
	return func(yield func(store) bool) {
		for i := range s.n {
			if !yield(s.shard(i)) {
				return
			}
		}
	}
}

// object returns the name, and the shards.
func (s *sharded) object() []string {
	all := make([]string, 1, 1+s.n)
	all[0] = s.key
	for i := range s.n {
		all = append(all, keys.Shard(s.key, i))
	}
	return all
}

// check refuses to look for entries, and to add some, where others do not. What
// adds none leaves no trace where there is no map.
func (s *sharded) check(ctx context.Context, adds bool) error {
	n, err := s.h.shardsOf(ctx, shardsKey{s.key, adds}, s.n)
	switch {
	case send.WrongType(err):
		return fmt.Errorf("key %q is no sharded map: %w", s.key, err)
	case err != nil:
		return err
	case n != 0 && n != s.n:
		return fmt.Errorf("%w: it has %d shards, and this handle was made for %d", ErrInvalidArgument, n, s.n)
	}
	return nil
}

// named names the shard of another type.
func (p *shard) named(err error) error {
	if send.WrongType(err) {
		return fmt.Errorf("shard %q is no hash: %w", p.key, err)
	}
	return err
}

// about returns an exchange about one entry.
func about[T any](ctx context.Context, s *sharded, adds bool, key string, call func(p *shard) (T, error)) (result T, err error) {
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
func (s *sharded) each(ctx context.Context, adds bool, which []int, call func(i int, p *shard) error) error {
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
			if done.err == nil || errors.Is(err, ErrOutcomeUnknown) {
				done.err = err
			}
			done.Unlock()
		}
	}
	var all sync.WaitGroup
	for range min(len(which), mostShards) - 1 {
		all.Add(1)
		if !s.h.e.Spawn(func() { defer all.Done(); work() }) { // ends with the calls
			all.Done()
		}
	}
	work()
	all.Wait()
	return done.err
}

func (s *sharded) all() []int {
	all := make([]int, s.n)
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
func (s *sharded) split(texts []string, step int) (by split) {
	place := map[int]int{}
	for i := 0; i < len(texts); i += step {
		in := keys.ShardOf(texts[i], s.n)
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

func (s *sharded) get(ctx context.Context, key string) (value, error) {
	return about(ctx, s, false, key, func(p *shard) (value, error) { return p.get(ctx, key) })
}

func (s *sharded) getMany(ctx context.Context, names []string) ([]value, error) {
	by, all := s.split(names, 1), make([]value, len(names))
	err := s.each(ctx, false, by.which, func(at int, p *shard) error {
		got, err := p.getMany(ctx, pick(names, by.items[at], 1))
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

func (s *sharded) has(ctx context.Context, key string) (bool, error) {
	return about(ctx, s, false, key, func(p *shard) (bool, error) { return p.has(ctx, key) })
}

func (s *sharded) length(ctx context.Context) (int64, error) {
	return s.sum(ctx, false, s.all(), func(_ int, p *shard) (int64, error) { return p.length(ctx) })
}

// sum adds up the answers of shards: those that there are, if it fails.
func (s *sharded) sum(ctx context.Context, adds bool, which []int, call func(i int, p *shard) (int64, error)) (int64, error) {
	var sum atomic.Int64
	err := s.each(ctx, adds, which, func(i int, p *shard) error {
		n, err := call(i, p)
		sum.Add(n)
		return err
	})
	return sum.Load(), err
}

func (s *sharded) put(ctx context.Context, pairs []string, l lifetime) error {
	by := s.split(pairs, 2)
	return s.each(ctx, true, by.which, func(at int, p *shard) error {
		return p.put(ctx, pick(pairs, by.items[at], 2), l)
	})
}

func (s *sharded) remove(ctx context.Context, names []string) (int64, error) {
	by := s.split(names, 1)
	return s.sum(ctx, false, by.which, func(at int, p *shard) (int64, error) {
		return p.remove(ctx, pick(names, by.items[at], 1))
	})
}

func (s *sharded) clear(ctx context.Context) error {
	return s.each(ctx, false, s.all(), func(_ int, p *shard) error { return p.clear(ctx) })
}

func (s *sharded) swap(ctx context.Context, key, text string, l lifetime) (value, error) {
	return about(ctx, s, true, key, func(p *shard) (value, error) { return p.swap(ctx, key, text, l) })
}

func (s *sharded) take(ctx context.Context, key string) (value, error) {
	return about(ctx, s, false, key, func(p *shard) (value, error) { return p.take(ctx, key) })
}

func (s *sharded) putIfAbsent(ctx context.Context, key, text string, l lifetime) (value, error) {
	return about(ctx, s, true, key, func(p *shard) (value, error) { return p.putIfAbsent(ctx, key, text, l) })
}

func (s *sharded) replace(ctx context.Context, key, text string, l lifetime) (bool, error) {
	return about(ctx, s, false, key, func(p *shard) (bool, error) { return p.replace(ctx, key, text, l) })
}

func (s *sharded) change(ctx context.Context, key string, old, to value, l lifetime, c *claim) (there value, done bool, err error) {
	there, err = about(ctx, s, to.there && !old.there, key, func(p *shard) (v value, err error) {
		v, done, err = p.change(ctx, key, old, to, l, c)
		return v, err
	})
	return there, done, err
}

func (s *sharded) add(ctx context.Context, key string, by addend, l lifetime) (value, error) {
	return about(ctx, s, true, key, func(p *shard) (value, error) { return p.add(ctx, key, by, l) })
}

// scan is not asked of all shards at once: see parts.
func (s *sharded) scan(ctx context.Context, a asked) (scanPage, error) {
	return s.shard(0).scan(ctx, a)
}

func (p *shard) scan(ctx context.Context, a asked) (page scanPage, err error) {
	if err = p.of.check(ctx, false); err == nil {
		page, err = p.plain.scan(ctx, a)
	}
	return page, p.named(err)
}
