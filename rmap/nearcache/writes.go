package nearcache

import (
	"context"

	"github.com/rueidisson/rueidisson/rmap"
)

// Put does what the map's Put does, with its cost and errors. When it returns, no Get of this near
// cache returns what was there before; so it is with every write.
func (n *Cache[K, V]) Put(ctx context.Context, k K, v V, opts ...rmap.PutOption) error {
	if err := n.usable(ctx); err != nil {
		return err
	}
	defer n.wrote(k)
	return n.m.Put(ctx, k, v, opts...)
}

// PutMany does what the map's PutMany does.
func (n *Cache[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...rmap.PutOption) error {
	if err := n.usable(ctx); err != nil {
		return err
	}
	defer func() {
		for k := range entries {
			n.wrote(k)
		}
	}()
	return n.m.PutMany(ctx, entries, opts...)
}

// Swap does what the map's Swap does.
func (n *Cache[K, V]) Swap(ctx context.Context, k K, v V, opts ...rmap.PutOption) (old V, had bool, err error) {
	if err := n.usable(ctx); err != nil {
		return old, false, err
	}
	defer n.wrote(k)
	return n.m.Swap(ctx, k, v, opts...)
}

// Remove does what the map's Remove does.
func (n *Cache[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) {
	if err := n.usable(ctx); err != nil {
		return 0, err
	}
	defer n.wrote(ks...)
	return n.m.Remove(ctx, ks...)
}

// Clear does what the map's Clear does.
func (n *Cache[K, V]) Clear(ctx context.Context) error {
	if err := n.usable(ctx); err != nil {
		return err
	}
	defer n.wroteAll()
	return n.m.Clear(ctx)
}

// PutIfAbsent does what the map's PutIfAbsent does.
func (n *Cache[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...rmap.PutOption) (now V, stored bool, err error) {
	if err := n.usable(ctx); err != nil {
		return now, false, err
	}
	defer n.wrote(k)
	return n.m.PutIfAbsent(ctx, k, v, opts...)
}

// Replace does what the map's Replace does.
func (n *Cache[K, V]) Replace(ctx context.Context, k K, v V, opts ...rmap.PutOption) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	defer n.wrote(k)
	return n.m.Replace(ctx, k, v, opts...)
}

// Take does what the map's Take does.
func (n *Cache[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	if err := n.usable(ctx); err != nil {
		return v, false, err
	}
	defer n.wrote(k)
	return n.m.Take(ctx, k)
}

// CompareAndSwap does what the map's CompareAndSwap does.
func (n *Cache[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...rmap.PutOption) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	defer n.wrote(k)
	return n.m.CompareAndSwap(ctx, k, old, v, opts...)
}

// CompareAndRemove does what the map's CompareAndRemove does.
func (n *Cache[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	if err := n.usable(ctx); err != nil {
		return false, err
	}
	defer n.wrote(k)
	return n.m.CompareAndRemove(ctx, k, old)
}

// Compute does what the map's Compute does: f gets what is in Redis, not a copy.
func (n *Cache[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, rmap.Verdict, error), opts ...rmap.PutOption) (v V, there bool, err error) {
	if err := n.usable(ctx); err != nil {
		return v, false, err
	}
	defer n.wrote(k)
	return n.m.Compute(ctx, k, f, opts...)
}
