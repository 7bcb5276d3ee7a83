package rmap

import (
	"context"
	"slices"
)

func (m *handle[K, V]) put(ctx context.Context, k K, v V, opts []PutOption) error {
	key, text, l, err := m.entry(ctx, k, v, opts)
	if err == nil {
		_, err = writing(ctx, m.h, func() (struct{}, error) {
			return struct{}{}, m.store.put(ctx, []string{key, text}, l)
		})
	}
	return m.failedAt("put", key, err)
}

// entry returns what a write of one entry needs.
func (m *handle[K, V]) entry(ctx context.Context, k K, v V, opts []PutOption) (key, text string, l lifetime, err error) {
	if l, err = m.lifetime(opts); err == nil {
		key, text, err = m.encode(ctx, k, v)
	}
	return key, text, l, err
}

// mostWritten bounds the bytes of one command of several entries: the server
// does nothing else meanwhile.
const mostWritten = 1 << 20

// putMany writes in as many exchanges as it takes.
func (m *handle[K, V]) putMany(ctx context.Context, entries map[K]V, opts []PutOption) error {
	l, err := m.lifetime(opts)
	var pairs []string
	if err == nil {
		pairs, err = m.pairs(ctx, entries)
	}
	for err == nil && len(pairs) > 0 {
		some := pairs[:cutPairs(pairs)]
		pairs = pairs[len(some):]
		_, err = writing(ctx, m.h, func() (struct{}, error) { return struct{}{}, m.store.put(ctx, some, l) })
	}
	return m.failed("put many into", err)
}

// pairs returns entries as they are in Redis, keys and values by turns.
func (m *handle[K, V]) pairs(ctx context.Context, entries map[K]V) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	pairs := make([]string, 0, 2*len(entries))
	for k, v := range entries {
		key, text, err := m.encode(ctx, k, v)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, key, text)
	}
	return pairs, nil
}

// cutPairs returns how much of pairs goes out as one.
func cutPairs(pairs []string) int {
	size := 0
	for i := 0; i < len(pairs); i += 2 {
		size += len(pairs[i]) + len(pairs[i+1])
		if i > 0 && (size > mostWritten || i+2 > mostInOne) {
			return i
		}
	}
	return len(pairs)
}

func (m *handle[K, V]) remove(ctx context.Context, ks []K) (n int64, err error) {
	texts, err := m.keyTexts(ctx, ks)
	if err != nil {
		return 0, m.failed("remove from", err)
	}
	for some := range slices.Chunk(texts, mostInOne) {
		gone, err := writing(ctx, m.h, func() (int64, error) { return m.store.remove(ctx, some) })
		if n += gone; err != nil {
			return n, m.failed("remove from", err)
		}
	}
	return n, nil
}

func (m *handle[K, V]) clear(ctx context.Context) error {
	err := m.usable(ctx)
	if err == nil {
		_, err = writing(ctx, m.h, func() (struct{}, error) { return struct{}{}, m.store.clear(ctx) })
	}
	return m.failed("clear", err)
}

func (m *handle[K, V]) swap(ctx context.Context, k K, v V, opts []PutOption) (old V, had bool, err error) {
	key, text, l, err := m.entry(ctx, k, v, opts)
	if err == nil {
		old, had, err = m.answered(ctx, key, func() (value, error) { return m.store.swap(ctx, key, text, l) })
	}
	return old, had, m.failedAt("swap", key, err)
}

// answered makes a write that is answered with a value.
func (m *handle[K, V]) answered(ctx context.Context, key string, call func() (value, error)) (v V, there bool, err error) {
	got, err := writing(ctx, m.h, call)
	if err != nil {
		return v, false, err
	}
	return m.decode(key, got)
}

func (m *handle[K, V]) take(ctx context.Context, k K) (v V, had bool, err error) {
	key, err := m.encodeKey(ctx, k)
	if err == nil {
		v, had, err = m.answered(ctx, key, func() (value, error) { return m.store.take(ctx, key) })
	}
	return v, had, m.failedAt("take", key, err)
}

func (m *handle[K, V]) putIfAbsent(ctx context.Context, k K, v V, opts []PutOption) (now V, stored bool, err error) {
	key, text, l, err := m.entry(ctx, k, v, opts)
	if err == nil {
		var there bool
		now, there, err = m.answered(ctx, key, func() (value, error) { return m.store.putIfAbsent(ctx, key, text, l) })
		if stored = err == nil && !there; stored {
			now = v
		}
	}
	return now, stored, m.failedAt("put if absent", key, err)
}

func (m *handle[K, V]) replace(ctx context.Context, k K, v V, opts []PutOption) (done bool, err error) {
	key, text, l, err := m.entry(ctx, k, v, opts)
	if err == nil {
		done, err = writing(ctx, m.h, func() (bool, error) { return m.store.replace(ctx, key, text, l) })
	}
	return done, m.failedAt("replace", key, err)
}

func (m *handle[K, V]) compareAndSwap(ctx context.Context, k K, old, v V, opts []PutOption) (done bool, err error) {
	key, text, l, err := m.entry(ctx, k, v, opts)
	if err == nil {
		done, err = m.change(ctx, key, old, value{text: text, there: true}, l)
	}
	return done, m.failedAt("compare and swap", key, err)
}

func (m *handle[K, V]) compareAndRemove(ctx context.Context, k K, old V) (done bool, err error) {
	key, err := m.encodeKey(ctx, k)
	if err == nil {
		done, err = m.change(ctx, key, old, value{}, m.cfg.entries)
	}
	return done, m.failedAt("compare and remove", key, err)
}

func (m *handle[K, V]) change(ctx context.Context, key string, old V, to value, l lifetime) (bool, error) {
	was, err := m.encodeValue(old)
	if err != nil {
		return false, err
	}
	return writing(ctx, m.h, func() (bool, error) {
		_, done, err := m.store.change(ctx, key, value{text: was, there: true}, to, l, nil)
		return done, err
	})
}
