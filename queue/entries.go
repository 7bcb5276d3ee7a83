package queue

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
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

var (
	xadd       = scripts.NewCommand("XADD", scripts.Once)
	xdel       = scripts.NewCommand("XDEL", scripts.Once)
	xtrim      = scripts.NewCommand("XTRIM", scripts.Unsafe)
	xrange     = send.Sized(scripts.NewCommand("XRANGE", scripts.Safe), send.Sizing{})
	xrevrange  = send.Sized(scripts.NewCommand("XREVRANGE", scripts.Safe), send.Sizing{})
	xack       = scripts.NewCommand("XACK", scripts.Once)
	xpending   = scripts.NewCommand("XPENDING", scripts.Safe)
	xreadgroup = send.ReadGroup
	xautoclaim = send.Sized(scripts.NewCommand("XAUTOCLAIM", scripts.Safe), send.Sizing{Writes: true})
	xgroups    = scripts.NewCommand("XINFO GROUPS", scripts.Safe)
	xcreate    = scripts.NewCommand("XGROUP CREATE", scripts.Unsafe)
	xdestroy   = scripts.NewCommand("XGROUP DESTROY", scripts.Unsafe)
)

func (s *stream[K, V]) add(ctx context.Context, fields map[K]V, opts []AddOption) (id string, err error) {
	cfg, err := object.Options(addConfig{id: "*"}, opts, AddOption.applyAdd)
	var words []string
	if err == nil {
		err = s.usable(ctx)
	}
	if err == nil {
		words, err = s.words(fields)
	}
	if err == nil {
		var how []string
		if cfg.most > 0 {
			how = []string{"MAXLEN", "~", decimal(cfg.most)}
		}
		id, err = write(ctx, &s.base, func(got send.Answer, err error) (string, error) {
			text, _, err := send.Text(got, err)
			return text, err
		}, xadd, []string{s.key}, slices.Concat(how, []string{cfg.id}, words)...)
		s.offered(ctx, 1, err)
	}
	return id, s.failed("add to", err)
}

// words returns fields and values, in the order of the bytes of the fields.
func (s *stream[K, V]) words(fields map[K]V) ([]string, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: an entry without fields", ErrInvalidArgument)
	}
	pairs := make([][2]string, 0, len(fields))
	for k, v := range fields {
		name, err := codec.Encode(s.fields, k)
		if err == nil {
			err = s.h.e.Fits(len(name))
		}
		if err != nil {
			return nil, fmt.Errorf("field: %w", err)
		}
		texts, err := s.encode(v)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, [2]string{name, texts[0]})
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
		k, err := codec.Decode(s.fields, f.Field)
		bad := f.Field
		if err == nil {
			bad = f.Value
			e.Fields[k], err = codec.Decode(s.codec, f.Value)
		}
		if err != nil {
			return Entry[K, V]{ID: it.ID}, &codec.DecodeError{Name: s.name, Key: it.ID, Bytes: []byte(bad), Cause: err}
		}
	}
	return e, nil
}

// mostEntries is how many entries a walk looks at, at a time.
const mostEntries = 100

func (s *stream[K, V]) walk(ctx context.Context, by send.Operation, from, to string) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		p := newPages(mostEntries)
		for at := from; ; {
			n := p.n
			entries, err := s.window(ctx, p.expecting(by), at, to, n)
			if err != nil {
				yield(Entry[K, V]{}, s.failed("walk", err))
				return
			}
			for _, it := range entries {
				if e, err := s.entry(it); !yield(e, core.Notice(s.failed("walk", err))) {
					return
				}
			}
			if int64(len(entries)) < n {
				return
			}
			p.saw(len(entries), bytesOf(entries))
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
	err := s.usable(ctx)
	for _, id := range []string{strings.TrimPrefix(from, "("), to} {
		if err == nil && id != "-" && id != "+" {
			err = checkID(id, "")
		}
	}
	if err != nil {
		return nil, err
	}
	return read(ctx, &s.base, entries, by, from, to, "COUNT", decimal(n))
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
		err = s.usable(ctx)
	}
	if err == nil {
		dropped, err = write(ctx, &s.base, send.Number, xtrim, []string{s.key}, "MAXLEN", "=", decimal(n))
	}
	return dropped, s.failed("trim", err)
}

func (s *stream[K, V]) trimBefore(ctx context.Context, id string) (dropped int64, err error) {
	if err = s.usable(ctx); err == nil {
		err = checkID(id, "")
	}
	if err == nil {
		dropped, err = write(ctx, &s.base, send.Number, xtrim, []string{s.key}, "MINID", "=", id)
	}
	return dropped, s.failed("trim", err)
}

// settle sends a command about entries, in as many parts as it takes.
func (s *stream[K, V]) settle(ctx context.Context, by *scripts.Command, before, ids []string) (n int64, err error) {
	err = s.usable(ctx)
	for _, id := range ids {
		if err == nil {
			err = checkID(id, "")
		}
	}
	for some := range slices.Chunk(ids, mostInOne) {
		if err == nil {
			var did int64
			did, err = write(ctx, &s.base, send.Number, by, []string{s.key}, slices.Concat(before, some)...)
			n += did
		}
	}
	return n, err
}
