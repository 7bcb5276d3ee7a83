package multimap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Get returns the values of k, empty if there are none; those of a list come in their order.
// Values that do not decode are left out; Get then returns the others together with an error.
//
// Cost: one script call. Errors: [ErrDecode], by a *[codec.DecodeError]; ctx's error and cause; [ErrInvalidArgument];
// [ErrClosed]; Redis' and the network's. Source: RMultimap.getAll.
func (m *multi[K, V]) Get(ctx context.Context, k K) (vs []V, err error) {
	key, err := m.encodeKey(ctx, k)
	var texts [][]string
	if err == nil {
		texts, err = m.values(ctx, []string{key})
	}
	if err == nil {
		vs, err = m.decode(key, texts[0])
	}
	return vs, m.failedAt("get", key, err)
}

// values returns the values of keys.
func (m *multi[K, V]) values(ctx context.Context, fields []string) ([][]string, error) {
	return send.Reading(m.e.Sender, ctx, func() ([][]string, error) {
		got, err := m.look(ctx, readValues, fields)
		if err != nil {
			return nil, err
		}
		parts, err := got.ToArray()
		if err != nil {
			return nil, err
		}
		all := make([][]string, len(parts))
		for i := range parts {
			if all[i], err = parts[i].AsStrSlice(); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

// decode leaves out what does not decode, and tells of it.
func (m *multi[K, V]) decode(key string, texts []string) ([]V, error) {
	vs := make([]V, 0, len(texts))
	var undecoded []error
	for _, text := range texts {
		v, err := m.codecs.DecodeValue(key, text)
		if err != nil {
			undecoded = append(undecoded, err)
		} else {
			vs = append(vs, v)
		}
	}
	return vs, errors.Join(undecoded...)
}

// Count returns how many values k has. Cost: one script call. Errors: as
// Get, but ErrDecode. Source: RMultimap.get(key).size.
func (m *multi[K, V]) Count(ctx context.Context, k K) (n int64, err error) {
	key, err := m.encodeKey(ctx, k)
	if err == nil {
		var all []int64
		if all, err = m.counts(ctx, []string{key}); err == nil {
			n = max(all[0], 0)
		}
	}
	return n, m.failedAt("count", key, err)
}

// Has reports whether k has values. Cost: one script call. Errors: as
// Count. Source: RMultimap.containsKey.
func (m *multi[K, V]) Has(ctx context.Context, k K) (bool, error) {
	n, err := m.Count(ctx, k)
	return n > 0, err
}

// counts returns how many values keys have: 0 if one is not there, -1 if it is and has
// none.
func (m *multi[K, V]) counts(ctx context.Context, fields []string) ([]int64, error) {
	return send.Reading(m.e.Sender, ctx, func() ([]int64, error) {
		got, err := m.look(ctx, countsScript, fields)
		if err != nil {
			return nil, err
		}
		return got.AsIntSlice()
	})
}

// HasEntry reports whether k has that value, by its bytes. Cost: one script call. Errors: as Count. Source:
// RMultimap.containsEntry.
func (m *multi[K, V]) HasEntry(ctx context.Context, k K, v V) (has bool, err error) {
	key, texts, err := m.encode(ctx, k, []V{v})
	if err == nil {
		has, err = send.Reading(m.e.Sender, ctx, func() (bool, error) {
			return send.Yes(m.look(ctx, hasScript, []string{key}, texts[0]))
		})
	}
	return has, m.failedAt("look for", key, err)
}

// mostValues bounds the values of one write, which is one script call.
const mostValues = 100_000

// encode returns a key and values as they are in Redis.
func (m *multi[K, V]) encode(ctx context.Context, k K, vs []V) (key string, texts []string, err error) {
	if key, err = m.encodeKey(ctx, k); err != nil {
		return key, nil, err
	}
	if len(vs) > mostValues {
		return key, nil, fmt.Errorf("%w: %d values at once, of at most %d", ErrInvalidArgument, len(vs), mostValues)
	}
	size := 0
	texts = make([]string, len(vs))
	for i, v := range vs {
		if texts[i], err = m.codecs.Value(v); err != nil {
			return key, nil, err
		}
		size += len(texts[i])
	}
	if err = m.e.Fits(size); err != nil {
		err = fmt.Errorf("values: %w", err)
	}
	return key, texts, err
}

// put returns how many of the values were not there.
func (m *multi[K, V]) put(ctx context.Context, k K, vs ...V) (added int64, err error) {
	key, texts, err := m.encode(ctx, k, vs)
	if err == nil && len(texts) > 0 {
		added, err = send.Writing(m.e.Sender, ctx, func() (int64, error) {
			return send.Number(m.write(ctx, putScript, key, append([]string{keys.GroupField(key)}, texts...)...))
		})
	}
	return added, m.failedAt("put", key, err)
}

// Remove removes a value of k, by its bytes, and reports whether there was one. Of a list it is the first. Cost: one
// script call. Errors: as Put. Source: RMultimap.remove.
func (m *multi[K, V]) Remove(ctx context.Context, k K, v V) (had bool, err error) {
	key, texts, err := m.encode(ctx, k, []V{v})
	if err == nil {
		had, err = send.Writing(m.e.Sender, ctx, func() (bool, error) {
			return send.Yes(m.write(ctx, removeScript, key, texts[0]))
		})
	}
	return had, m.failedAt("remove from", key, err)
}

// RemoveAll removes k, and returns the values that it had. Cost: one script call.
// Errors: as Put, and [ErrDecode] about what was there: then it has
// been removed. Source: RMultimap.removeAll.
func (m *multi[K, V]) RemoveAll(ctx context.Context, k K) ([]V, error) {
	return m.replace(ctx, "remove all of", k)
}

// Replace gives k other values, up to 100,000, in place of those that it had, which
// it returns. It ends when it would have. No values remove it.
//
// Cost: one script call. Errors: as RemoveAll; then the new ones
// are there. Source: RMultimap.replaceValues.
func (m *multi[K, V]) Replace(ctx context.Context, k K, vs ...V) (old []V, err error) {
	return m.replace(ctx, "replace", k, vs...)
}

func (m *multi[K, V]) replace(ctx context.Context, op string, k K, vs ...V) (old []V, err error) {
	key, texts, err := m.encode(ctx, k, vs)
	if err == nil {
		old, err = m.answered(ctx, key, func() (send.Answer, error) {
			return m.write(ctx, replaceScript, key, append([]string{keys.GroupField(key)}, texts...)...)
		})
	}
	return old, m.failedAt(op, key, err)
}

// answered makes a write that is answered with the values that there were.
func (m *multi[K, V]) answered(ctx context.Context, key string, call func() (send.Answer, error)) ([]V, error) {
	texts, err := send.Writing(m.e.Sender, ctx, func() ([]string, error) {
		packed, _, err := send.Text(call())
		if err != nil {
			return nil, err
		}
		return unpack(packed)
	})
	if err != nil {
		return nil, err
	}
	return m.decode(key, texts)
}

// unpack returns several texts, each with its length before it.
func unpack(packed string) (texts []string, err error) {
	for packed != "" {
		digits, rest, _ := strings.Cut(packed, ":")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > len(rest) {
			return nil, fmt.Errorf("%w: values without their lengths", ErrDecode)
		}
		texts, packed = append(texts, rest[:n]), rest[n:]
	}
	return texts, nil
}

// RemoveKeys removes keys with their values, and returns how many there were. Cost:
// a script call for each 1,000 keys. Errors: as Put; the number is that
// of the calls which were answered. Source: RMultimap.fastRemove.
func (m *multi[K, V]) RemoveKeys(ctx context.Context, ks ...K) (n int64, err error) {
	texts, err := m.keyTexts(ctx, ks)
	slices.Sort(texts)
	texts = slices.Compact(texts) // each counts once
	for some := range slices.Chunk(texts, mostKeys) {
		if err != nil {
			break
		}
		var gone int64
		gone, err = send.Writing(m.e.Sender, ctx, func() (int64, error) { return m.drop(ctx, some, "all") })
		n += gone
	}
	return n, m.failed("remove keys of", err)
}

// mostKeys bounds the keys of one script call.
const mostKeys = 1000

// drop removes keys with their values.
func (m *multi[K, V]) drop(ctx context.Context, fields []string, which string) (int64, error) {
	return send.Number(m.send(ctx, dropScript, m.names.of(fields...), append([]string{m.now(), m.names.kind, which}, fields...)...))
}

// Clear removes all keys, as Delete does. Source: RMultimap.clear.
func (m *multi[K, V]) Clear(ctx context.Context) error {
	_, err := m.clear(ctx, "clear")
	return err
}

// Delete removes all keys with their values, 1,000 at a time, and reports whether
// there was one. What is put meanwhile may stay. After an error some are left: call
// it again. Cost: HSCAN and a script call for each 500 keys, and one more. Errors:
// as Put. Source: RMultimap.delete.
func (m *multi[K, V]) Delete(ctx context.Context) (bool, error) {
	return m.clear(ctx, "delete")
}

// clear removes all keys, and reports whether there was one.
func (m *multi[K, V]) clear(ctx context.Context, op string) (there bool, err error) {
	for fields, err := range m.fields(ctx, nil) {
		var n int64
		if err == nil {
			n, err = send.Writing(m.e.Sender, ctx, func() (int64, error) { return m.drop(ctx, fields, "all") })
		}
		if err != nil {
			return there, m.failed(op, err)
		}
		there = there || n > 0
	}
	_, err = send.Writing(m.e.Sender, ctx, func() (bool, error) {
		return send.Yes(m.send(ctx, finishScript, m.names.of()))
	})
	return there, m.failed(op, err)
}
