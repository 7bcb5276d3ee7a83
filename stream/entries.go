package stream

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

func (s *stream[K, V]) add(ctx context.Context, fields map[K]V, opts []AddOption) (id string, err error) {
	cfg, err := object.Options(addConfig{id: "*"}, opts, AddOption.applyAdd)
	var words []string
	if err == nil {
		err = s.Usable(ctx)
	}
	if err == nil {
		words, err = s.words(fields)
	}
	if err == nil {
		var how []string
		if cfg.most > 0 {
			how = []string{"MAXLEN", "~", decimal(cfg.most)}
		}
		id, err = whole.Write(ctx, &s.Object, func(got send.Answer, err error) (string, error) {
			text, _, err := send.Text(got, err)
			return text, err
		}, xadd, []string{s.Key}, slices.Concat(how, []string{cfg.id}, words)...)
		if err == nil {
			s.h.e.Offered(ctx, s.Kind, s.Key, 1)
		}
	}
	return id, s.Failed("add to", err)
}

// words returns fields and values, in the order of the bytes of the fields.
func (s *stream[K, V]) words(fields map[K]V) ([]string, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: an entry without fields", ErrInvalidArgument)
	}
	pairs := make([][2]string, 0, len(fields))
	for k, v := range fields {
		field, err := s.codecs.Key(k)
		var value string
		if err == nil {
			value, err = s.codecs.Value(v)
		}
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, [2]string{field, value})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	words := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		words = append(words, p[0], p[1])
	}
	return words, nil
}

// entry returns an entry as it is read.
func (s *stream[K, V]) entry(it rueidis.XRangeSlice) (Entry[K, V], error) {
	e := Entry[K, V]{ID: it.ID, Fields: make(map[K]V, len(it.FieldValues))}
	for _, f := range it.FieldValues {
		k, err := codec.Decode(s.codecs.Keys, f.Field)
		bad := f.Field
		if err == nil {
			bad = f.Value
			e.Fields[k], err = codec.Decode(s.codecs.Values, f.Value)
		}
		if err != nil {
			return Entry[K, V]{ID: it.ID}, s.codecs.Undecoded(it.ID, bad, err)
		}
	}
	return e, nil
}

// mostEntries is how many entries a walk looks at, at a time.
const mostEntries = 100

func (s *stream[K, V]) walk(ctx context.Context, by send.Operation, from, to string) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		p := paging.Walk(mostEntries)
		for at := from; ; {
			n := p.N
			entries, err := s.window(ctx, p.Expect(by), at, to, n)
			if err != nil {
				yield(Entry[K, V]{}, s.Failed("walk", err))
				return
			}
			for _, it := range entries {
				if e, err := s.entry(it); !yield(e, core.Notice(s.Failed("walk", err))) {
					return
				}
			}
			if int64(len(entries)) < n {
				return
			}
			p.Saw(len(entries), bytesOf(entries))
			at = "(" + entries[len(entries)-1].ID
		}
	}
}

// bytesOf returns how many bytes the fields and values of entries have.
func bytesOf(entries []rueidis.XRangeSlice) (bytes int64) {
	for _, it := range entries {
		for _, f := range it.FieldValues {
			bytes += int64(len(f.Field) + len(f.Value))
		}
	}
	return bytes
}

func (s *stream[K, V]) window(ctx context.Context, by send.Operation, from, to string, n int64) ([]rueidis.XRangeSlice, error) {
	err := s.Usable(ctx)
	for _, id := range []string{strings.TrimPrefix(from, "("), to} {
		if err == nil && id != "-" && id != "+" {
			err = checkID(id, "")
		}
	}
	if err != nil {
		return nil, err
	}
	return whole.Read(ctx, &s.Object, entries, by, from, to, "COUNT", decimal(n))
}

// entries returns an answer that is entries.
func entries(got send.Answer, err error) ([]rueidis.XRangeSlice, error) {
	if err != nil || got.Nil {
		return nil, err
	}
	return got.AsXRangeSlices()
}

func (s *stream[K, V]) trim(ctx context.Context, n int64) (dropped int64, err error) {
	if n < 0 {
		err = fmt.Errorf("%w: a length of %d", ErrInvalidArgument, n)
	}
	if err == nil {
		err = s.Usable(ctx)
	}
	if err == nil {
		dropped, err = whole.Write(ctx, &s.Object, send.Number, xtrim, []string{s.Key}, "MAXLEN", "=", decimal(n))
	}
	return dropped, s.Failed("trim", err)
}

func (s *stream[K, V]) trimBefore(ctx context.Context, id string) (dropped int64, err error) {
	if err = s.Usable(ctx); err == nil {
		err = checkID(id, "")
	}
	if err == nil {
		dropped, err = whole.Write(ctx, &s.Object, send.Number, xtrim, []string{s.Key}, "MINID", "=", id)
	}
	return dropped, s.Failed("trim", err)
}

// settle sends a command about entries, in as many parts as it takes.
func (s *stream[K, V]) settle(ctx context.Context, by *scripts.Command, before, ids []string) (n int64, err error) {
	err = s.Usable(ctx)
	for _, id := range ids {
		if err == nil {
			err = checkID(id, "")
		}
	}
	for some := range slices.Chunk(ids, paging.Most) {
		if err == nil {
			var did int64
			did, err = whole.Write(ctx, &s.Object, send.Number, by, []string{s.Key}, slices.Concat(before, some)...)
			n += did
		}
	}
	return n, err
}
